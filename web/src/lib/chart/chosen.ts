// Which lines of many are drawn, four at most: more cross each other and say nothing.

import type { Group } from '../api/types';
import { FEW } from './lines';

/** Up to so many lines all are drawn. */
export const ALL_UP_TO = 3;
/** So much of the waiting is enough to explain a latency, and so many lines are the most for it. */
const ENOUGH = 0.9;
const MOST = 3;

/** Whether groups are of latencies; of rates there is no waiting, but a number of I/Os. */
export const isWaiting = (groups: readonly Group[]): boolean => groups.some((group) => group.p99.length > 0);

/** A group's part of all waiting: its service times added, of those of all groups; of rates its part of the I/Os. */
export function waitParts(groups: readonly Group[]): number[] {
  const waits = groups.map((group) => group.count.reduce((sum, count, at) => sum + count * (isWaiting(groups) ? (group.mean[at] ?? 0) : 1), 0));
  const all = waits.reduce((sum, wait) => sum + wait, 0);
  return waits.map((wait) => (all > 0 ? wait / all : 0));
}

/** The highest value of a line with enough I/Os behind it: the chart's sentence is about the line that has it. */
const worst = (group: Group): number =>
  group.p99.reduce<number>((most, value, at) => ((group.count[at] ?? 0) >= FEW ? Math.max(most, value ?? 0) : most), 0);

/** The lines that are drawn unless others are chosen: those with the most waiting, and the slowest. */
export function usual(groups: readonly Group[]): Set<string> {
  const parts = waitParts(groups);
  const order = groups.map((group, at) => ({ group, part: parts[at] ?? 0 })).sort((a, b) => b.part - a.part);
  const keys = new Set<string>();
  let sum = 0;
  for (const { group, part } of order) {
    if (sum >= ENOUGH || keys.size >= (isWaiting(groups) ? MOST : MOST + 1) || part === 0) break;
    keys.add(group.key);
    sum += part;
  }
  const slowest = [...groups].sort((a, b) => worst(b) - worst(a))[0];
  if (slowest && worst(slowest) > 0) keys.add(slowest.key);
  return keys;
}

/** The lines that are drawn: as the address says, else the usual ones. */
export function chosen(groups: readonly Group[], text: string | null): Set<string> {
  if (groups.length <= ALL_UP_TO || text === 'all') return new Set(groups.map((group) => group.key));
  const known = (text ?? '').split(',').filter((key) => groups.some((group) => group.key === key));
  return known.length ? new Set(known) : usual(groups);
}

/** The address's text when one line is shown or hidden; null for the usual ones. The last line stays. */
export function toggled(groups: readonly Group[], text: string | null, key: string): string | null {
  const now = chosen(groups, text);
  if (!now.delete(key)) now.add(key);
  const keys = groups.map((group) => group.key);
  const next = keys.filter((each) => now.has(each));
  if (next.length === 0) return text;
  if (next.length === keys.length) return 'all';
  const first = usual(groups);
  return next.length === first.size && next.every((each) => first.has(each)) ? null : next.join(',');
}
