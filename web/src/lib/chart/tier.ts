// What the tier page says and draws of a tier's numbers.

import type { TierSeries } from '../api/types';
import { bytes, clock, latency, share } from '../format';
import { perSecond, shares } from './areas';

/** Rates and shares of a tier's points. */
export interface TierRates {
  readShare: (number | null)[];
  writeShare: (number | null)[];
  local: number[];
  remote: number[];
  behind: number[];
  reads: number[];
  writes: number[];
  filled: number[];
  placed: number[];
  evicted: number[];
  destaged: number[];
}

const less = (a: ArrayLike<number>, b: ArrayLike<number>): number[] =>
  Array.from(a, (value, position) => Math.max(0, value - (b[position] ?? 0)));

/** Amounts a second and shares out of a tier's counts. */
export function tierRates(tier: TierSeries): TierRates {
  const rate = (values: ArrayLike<number>): number[] => perSecond(values, tier.width_ns);
  return {
    readShare: shares(tier.read_hits, tier.reads),
    writeShare: shares(tier.writes_absorbed, tier.writes),
    local: rate(less(tier.read_hits, tier.remote_hits)),
    remote: rate(tier.remote_hits),
    behind: rate(less(tier.reads, tier.read_hits)),
    reads: rate(tier.reads),
    writes: rate(tier.writes),
    filled: rate(tier.filled_bytes),
    placed: rate(tier.placed_bytes),
    evicted: rate(tier.evicted_bytes),
    destaged: rate(tier.destaged_bytes),
  };
}

/** Why there is no line of accelerated writes; null if there is one. */
export function notByDesign(tier: TierSeries): string | null {
  if (tier.writes_absorbed.some((count) => count > 0)) return null;
  if (tier.policy === 'write-through') return 'write-through: not accelerated by design';
  if (tier.policy === 'read-only') return 'read-only tier: writes are not accelerated by design';
  return null;
}

const sum = (values: ArrayLike<number>): number => Array.from(values).reduce((all, one) => all + one, 0);

/** What came in and what had to go. */
export function fillSentence(tier: TierSeries): string {
  const held = tier.resident_bytes.at(-1);
  if (held === undefined) return 'There is no course of what it held.';
  const evicted = sum(tier.evicted_bytes);
  const first = tier.evicted_bytes.findIndex((count) => count > 0);
  const room = evicted > 0
    ? `from ${clock(tier.at_ns[first])} on it made room, ${bytes(evicted)} in all`
    : 'nothing had to go';
  return `At the end it holds ${bytes(held)} of ${bytes(tier.capacity_bytes)} (${share(held / tier.capacity_bytes)}); ${room}.`;
}

/** What is not yet behind the tier. */
export function dirtySentence(tier: TierSeries): string {
  const most = Math.max(0, ...tier.dirty_bytes);
  if (most === 0) return 'Nothing ever waited to be written to the backing store.';
  const at = tier.dirty_bytes.indexOf(most);
  return `At most ${bytes(most)} waited to be written to the backing store, at ${clock(tier.at_ns[at])}: ` +
    `${share(most / tier.capacity_bytes)} of the tier's ${bytes(tier.capacity_bytes)}.`;
}

/**
 * Whether what is written behind follows what is written into the tier so closely that there is
 * no gap to see: writes then show their gain as latency only.
 */
export function destagesAtOnce(tier: TierSeries): boolean {
  const placed = sum(tier.placed_bytes);
  return tier.policy === 'write-back' && placed > 0 && Math.abs(sum(tier.destaged_bytes) / placed - 1) < 0.05;
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
