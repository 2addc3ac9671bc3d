import type { MapItem, TrailPoint } from '../api/types';

/** Courses of several items on one axis of time: begins, lengths, and a list for each item. */
export function merged(
  items: readonly MapItem[],
  of: (point: TrailPoint) => number | null,
  endNs: number,
): { at: number[]; widths: number[]; lists: (number | null)[][] } {
  const at = [...new Set(items.flatMap((item) => item.trail.map((point) => point.at_ns)))].sort((a, b) => a - b);
  const widths = at.map((begin, position) => (at[position + 1] ?? Math.max(endNs, begin + 1)) - begin);
  const lists = items.map((item) => {
    const known = new Map(item.trail.map((point) => [point.at_ns, of(point)]));
    return at.map((begin) => known.get(begin) ?? null);
  });
  return { at, widths, lists };
}
