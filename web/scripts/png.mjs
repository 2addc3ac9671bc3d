// Small PNG files: at most 256 colours, chosen by median cut (P. Heckbert, "Color image quantization for
// frame buffer display", SIGGRAPH 1982), written as PNG with a palette (W3C PNG, colour type 3).
import { crc32, deflateSync } from 'node:zlib';

const channel = (colour, at) => (colour >> (8 * at)) & 255;

/** The channel that spreads most over colours, and how far. */
function widest(colours) {
  let best = [0, -1];
  for (const at of [0, 1, 2]) {
    let [low, high] = [255, 0];
    for (const [colour] of colours) {
      const value = channel(colour, at);
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (high - low > best[1]) best = [at, high - low];
  }
  return best;
}

/** At most `most` colours for those counted, and which of them each colour becomes. */
function palette(counts, most) {
  const boxes = [[...counts]];
  while (boxes.length < most) {
    // The box with the most to lose is cut: spread, weighted by how often it is seen.
    let worst = -1;
    let loss = 0;
    boxes.forEach((box, position) => {
      if (box.length < 2) return;
      const found = widest(box)[1] * Math.log2(1 + box.reduce((sum, [, count]) => sum + count, 0));
      if (found > loss) [worst, loss] = [position, found];
    });
    if (worst < 0) break;
    const box = boxes[worst];
    const [at] = widest(box);
    box.sort(([a], [b]) => channel(a, at) - channel(b, at));
    boxes.splice(worst, 1, box.slice(0, box.length >> 1), box.slice(box.length >> 1));
  }
  const of = new Map();
  const colours = boxes.map((box, position) => {
    const weight = box.reduce((sum, [, count]) => sum + count, 0);
    for (const [colour] of box) of.set(colour, position);
    return [0, 1, 2].map((at) => Math.round(box.reduce((sum, [colour, count]) => sum + channel(colour, at) * count, 0) / weight));
  });
  return { colours, of };
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([head, body, sum]);
}

/** A PNG of `pixels`: four bytes each, red first. */
export function png(pixels, width, height) {
  const counts = new Map();
  const colours = new Uint32Array(width * height);
  for (let at = 0; at < colours.length; at += 1) {
    const colour = pixels[4 * at] | (pixels[4 * at + 1] << 8) | (pixels[4 * at + 2] << 16);
    colours[at] = colour;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const found = palette(counts, 256);
  // A row begins with its filter; none suits palettes best.
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = found.of.get(colours[y * width + x]);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), chunk('IHDR', head), chunk('PLTE', Buffer.from(found.colours.flat())),
    chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0)),
  ]);
}
