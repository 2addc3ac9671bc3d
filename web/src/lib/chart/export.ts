// Charts as files.

/** Gives the browser a file to keep. */
export function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A name for a file out of a title. */
export const fileName = (title: string, end: string): string =>
  `${title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')}.${end}`;

async function picture(svg: SVGSVGElement): Promise<HTMLImageElement> {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const box = svg.getBoundingClientRect();
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', String(box.width));
  copy.setAttribute('height', String(box.height));
  const text = new XMLSerializer().serializeToString(copy);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  return image;
}

function wrapped(context: CanvasRenderingContext2D, text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1) ?? ''} ${word}`.trim();
    if (context.measureText(line).width > width && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines;
}

/** Draws what is in `surface` with its title and sentence above, at twice the size of the screen. */
export async function png(
  surface: HTMLElement,
  words: { title: string; sentence: string },
  colours: { ground: string; ink: string },
): Promise<Blob | null> {
  const scale = 2;
  const box = surface.getBoundingClientRect();
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d');
  if (!context) return null;
  const font = getComputedStyle(surface).fontFamily;
  context.font = `14px ${font}`;
  const lines = wrapped(context, words.sentence, box.width - 24);
  const top = 44 + lines.length * 20;
  canvas.width = box.width * scale;
  canvas.height = (box.height + top + 12) * scale;
  context.scale(scale, scale);
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, box.width, box.height + top + 12);
  context.fillStyle = colours.ink;
  context.font = `bold 16px ${font}`;
  context.fillText(words.title, 12, 26);
  context.font = `14px ${font}`;
  lines.forEach((line, position) => context.fillText(line, 12, 48 + position * 20));
  for (const part of surface.querySelectorAll<HTMLCanvasElement | SVGSVGElement>('canvas, svg')) {
    const place = part.getBoundingClientRect();
    if (place.width === 0 || place.height === 0) continue;
    const image = part instanceof HTMLCanvasElement ? part : await picture(part);
    context.drawImage(image, place.left - box.left, place.top - box.top + top, place.width, place.height);
  }
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}
