// What the tier page says and draws of a tier's numbers.

import type { TierSeries } from '../api/types';
import { latency } from '../format';

/** Why there is no line of accelerated writes; null if there is one. */
export function notByDesign(tier: TierSeries): string | null {
  if (tier.writes_absorbed.some((count) => count > 0)) return null;
  if (tier.policy === 'write-through') return 'write-through: not accelerated by design';
  if (tier.policy === 'read-only') return 'read-only tier: writes are not accelerated by design';
  return null;
}

/** The times the application sees beside those behind the tier. */
export function gapSentence(direction: 'Reads' | 'Writes', seen: readonly (number | null)[], behind: readonly (number | null)[]): string {
  const last = seen.findLastIndex((value, position) => value !== null && (behind.length === 0 || (behind[position] ?? null) !== null));
  if (last < 0) return `${direction}: no time is known.`;
  if (behind.length === 0) return `${direction}: the application sees a p99 of ${latency(seen[last])} at the end. This run does not hold the times behind its tier, so there is no gap to show.`;
  const [near, far] = [seen[last] ?? 0, behind[last] ?? 0];
  const word = near <= far ? 'shorter' : 'longer';
  return `${direction}: at the end the application sees a p99 of ${latency(near)}, ${word} than the ${latency(far)} of what went to the backing store.`;
}
