// A whole scenario in a link: its text, compressed, behind the #, which browsers do not send to any server.

const PREFIX = 's=';
/** Bytes of a scenario in a link: a few kB of link can unpack to gigabytes. */
const LARGEST = 1 << 20;

export class BrokenLink extends Error {
  constructor() {
    super('the link is broken, expected one that Share made; ask for it again, or start from an example');
  }
}

/** The part of a link from the # on. */
export async function toFragment(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `#${PREFIX}${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

/** The text in a link; null if it has none. Throws BrokenLink. */
export async function fromFragment(fragment: string): Promise<string | null> {
  const content = fragment.replace(/^#/, '');
  if (!content.startsWith(PREFIX)) return null;
  try {
    const binary = atob(content.slice(PREFIX.length).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
    return await read(reader);
  } catch {
    throw new BrokenLink();
  }
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > LARGEST) throw new BrokenLink();
    text += decoder.decode(value, { stream: true });
  }
}
