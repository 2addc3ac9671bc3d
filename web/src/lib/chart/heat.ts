// The picture of a heat map: one pixel for each column of the screen and each row.

import type { HeatMap } from '../api/types';
import { indexAt } from './decimate';

export interface HeatData {
  at: ArrayLike<number>;
  widths: ArrayLike<number>;
  /** One more than there are rows, ascending. */
  edges: ArrayLike<number>;
  /** Pairs of row and I/Os, one list a column. */
  columns: readonly ArrayLike<number>[];
  most: number;
}

export const heatData = (document: HeatMap): HeatData => ({
  at: document.at_ns,
  widths: document.width_ns,
  edges: document.edges_ns,
  columns: document.columns,
  most: document.most,
});

/**
 * Paints `data` between two times into `image` (red, green, blue, opacity), `width` pixels wide
 * and one pixel a row, the longest times above. Colour is the logarithm of I/Os; of several
 * columns on one pixel the fullest cell is taken.
 */
export function paint(
  image: Uint8ClampedArray | Uint8Array,
  width: number,
  data: HeatData,
  window: readonly [number, number],
  ramp: Uint8Array,
): void {
  const rows = data.edges.length - 1;
  const colours = new Uint32Array(ramp.buffer, ramp.byteOffset, 256);
  const pixels = new Uint32Array(image.buffer, image.byteOffset, width * rows);
  pixels.fill(0);
  const levels = new Uint8Array(width * rows);
  const perNs = width / Math.max(1, window[1] - window[0]);
  const perLog = 254 / Math.log(Math.max(2, data.most) + 1);
  const first = data.at.length ? indexAt(data.at, window[0]) : 0;
  for (let column = first; column < data.at.length; column += 1) {
    const begin = data.at[column] ?? 0;
    if (begin >= window[1]) break;
    const end = begin + (data.widths[column] ?? 0);
    const left = Math.max(0, Math.floor((begin - window[0]) * perNs));
    const right = Math.min(width, Math.max(left + 1, Math.floor((end - window[0]) * perNs)));
    const cells = data.columns[column] ?? [];
    for (let pair = 0; pair + 1 < cells.length; pair += 2) {
      const row = rows - 1 - (cells[pair] ?? 0);
      const count = cells[pair + 1] ?? 0;
      if (count === 0 || row < 0) continue;
      const level = 1 + Math.floor(Math.log(count + 1) * perLog);
      for (let x = left; x < right; x += 1) {
        const place = row * width + x;
        if (level > (levels[place] ?? 0)) {
          levels[place] = level;
          pixels[place] = colours[Math.min(255, level)] ?? 0;
        }
      }
    }
  }
}

/** I/Os of a cell. */
export function countAt(data: HeatData, column: number, row: number): number {
  const cells = data.columns[column] ?? [];
  for (let pair = 0; pair + 1 < cells.length; pair += 2) {
    if (cells[pair] === row) return cells[pair + 1] ?? 0;
  }
  return 0;
}

/** The row with most I/Os of a column; the middle one if it has none. */
export function fullest(data: HeatData, column: number): number {
  const cells = data.columns[column] ?? [];
  let best = -1;
  let row = Math.floor((data.edges.length - 1) / 2);
  for (let pair = 0; pair + 1 < cells.length; pair += 2) {
    if ((cells[pair + 1] ?? 0) > best) {
      best = cells[pair + 1] ?? 0;
      row = cells[pair] ?? row;
    }
  }
  return row;
}
