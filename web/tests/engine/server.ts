// A server of static files: with the security policy of the lab, or plain.
import { createServer, type Server } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import type { AddressInfo } from 'node:net';

const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
};

const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'";

/** Serves a folder on a free port, by default with the lab's policy; returns the server and its address. */
export async function serve(folder: string, headers: Record<string, string> = { 'content-security-policy': POLICY }): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://localhost').pathname);
    readFile(join(folder, path.endsWith('/') ? `${path}index.html` : path)).then(
      (body) => {
        const type = TYPES[extname(path)] ?? (path.endsWith('/') ? 'text/html' : 'application/octet-stream');
        response.writeHead(200, { 'content-type': type, ...headers }).end(body);
      },
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}
