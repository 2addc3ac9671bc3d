// Distributions: service time to the right (logarithmic), share of I/Os upwards by nines, so
// that the tail is as large as the middle.

import type { PercentilePoint } from '../api/types';

/** Shares that the axis names. */
export const NINES = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];

/** Height of a share: 0 for none, 1 for the first nine, 2 for the second. */
export const nines = (share: number): number => -Math.log10(Math.max(1 - share, 1e-7));

export const nineLabel = (share: number): string =>
  share === 0 ? 'shortest' : `p${Number((share * 100).toFixed(4))}`;

/** The time that a share of I/Os took at most, of points that ascend; null beyond them. */
export function valueAt(points: readonly PercentilePoint[], share: number): number | null {
  const next = points.findIndex((point) => point.share >= share);
  const after = points[next];
  if (!after) return null;
  const before = points[next - 1];
  if (!before || after.share === before.share) return after.value_ns;
  // The last point is the longest I/O and stands for no percentile.
  if (after.share >= 1 && share > before.share) return null;
  const part = (nines(share) - nines(before.share)) / (nines(after.share) - nines(before.share));
  return before.value_ns * (after.value_ns / Math.max(1, before.value_ns)) ** part;
}
