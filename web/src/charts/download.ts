/** Saves text or an image as a file of the reader. */
export function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The download has its own reference by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveText(name: string, text: string, type: string): void {
  save(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** Draws an SVG document as PNG, at twice its size: sharp on paper and screens. */
export async function savePng(name: string, svg: string, width: number, height: number): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (blob) save(name, blob);
}

/** A title as the name of a file. */
export function fileName(title: string, ending: string): string {
  const plain = title.normalize('NFKD').replaceAll(/[^\w.]+/g, '-').replaceAll(/^[-.]+|[-.]+$/g, '');
  return `${plain.slice(0, 60).toLowerCase() || 'chart'}.${ending}`;
}
