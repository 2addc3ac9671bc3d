// Lines over time, as charts draw them.

import type { Group } from '../api/types';
import { CLASS_NAMES } from '../format';
import { CLASSES } from '../lens/lens';
import { dashOf, type Colours } from '../palette';

/** Below this many I/Os a latency means little. */
export const FEW = 30;

/** What leads from an end to its name: thin dots in grey, never in a line's colour, so that nobody reads it as data. */
export const LEADER = { width: 0.75, dash: [1, 3] } as const;

export interface Line {
  key: string;
  label: string;
  colour: string;
  dash: number[];
  width: number;
  values: ArrayLike<number | null>;
  /** I/Os behind each value. */
  counts?: ArrayLike<number> | undefined;
  /** The same line's least and most, drawn as a band. */
  low?: ArrayLike<number | null> | undefined;
  high?: ArrayLike<number | null> | undefined;
}

/** Colour and dash of a group by what it is: direction, class of sizes, pair of both, or other. */
export function styleOf(key: string, position: number, colours: Colours): { colour: string; dash: number[] } {
  const pair = /^([rw])?(\d+k)$/.exec(key);
  const found = pair ? (CLASSES as readonly string[]).indexOf(pair[2] ?? '') : -1;
  if (found >= 0) return { colour: colours.classes[found] ?? colours.ink, dash: dashOf(pair?.[1] ?? 'r') };
  if (key === 'r') return { colour: colours.kinds.read, dash: [] };
  if (key === 'w') return { colour: colours.kinds.write, dash: dashOf('w') };
  // Flushes move no bytes: neither read nor write, drawn as what they wait for.
  if (key === 'f') return { colour: colours.kinds.backing, dash: [2, 3] };
  if (key === 'all' || key === '') return { colour: colours.kinds.observed, dash: [] };
  return styleOfMany(position, colours);
}

const DASHES = [[], [9, 3], [3, 3], [12, 3, 3, 3]];

/**
 * Colour and dash of one of many names. Names have no order: hue tells them apart, and the dash does too once grey.
 * Each round of the colours begins one dash later, so that 32 names differ.
 */
export function styleOfMany(position: number, colours: Colours): { colour: string; dash: number[] } {
  const round = Math.floor(position / colours.many.length);
  return {
    colour: colours.many[position % colours.many.length] ?? colours.ink,
    dash: DASHES[(position + round) % DASHES.length] ?? [],
  };
}

/** Sizes are told apart by width too, small ones thin: neighbours of cividis are close in grey. */
function widthOf(key: string): number {
  const found = (CLASSES as readonly string[]).indexOf(key.replace(/^[rw]/, ''));
  return found < 0 ? 1.75 : 0.9 + 0.4 * found;
}

/** Lines of sizes among which few are drawn: those grow clearly thicker one by one, as neighbours of cividis are alike. */
export function apart(lines: readonly Line[], drawn: ReadonlySet<string>): Line[] {
  let width = 0.2;
  return lines.map((line) => {
    const isSize = (CLASSES as readonly string[]).includes(line.key);
    if (!isSize || !drawn.has(line.key) || drawn.size > 4) return line;
    width += 1.1;
    return { ...line, width };
  });
}

/** What a line is called: sizes as everywhere on the page. */
export function nameOf(group: Group): string {
  const found = (CLASSES as readonly string[]).indexOf(group.key);
  return CLASS_NAMES[found] ?? group.label;
}

export type Statistic = 'mean' | 'p50' | 'p95' | 'p99' | 'max' | 'wait_share';

/** A group's line of one statistic. */
export function lineOf(group: Group, statistic: Statistic, position: number, colours: Colours): Line {
  const isRate = statistic === 'mean' && group.p99.length === 0;
  return {
    key: group.key,
    label: nameOf(group),
    ...styleOf(group.key, position, colours),
    width: widthOf(group.key),
    values: group[statistic],
    counts: isRate ? undefined : group.count,
    low: isRate ? group.min : undefined,
    high: isRate ? group.max : undefined,
  };
}

/** Values with many I/Os behind them, and those with few: each list has gaps where the other is. */
export function split(line: Line): { many: ArrayLike<number | null>; few: ArrayLike<number | null> } {
  const counts = line.counts;
  if (counts === undefined) return { many: line.values, few: [] };
  const many: (number | null)[] = [];
  const few: (number | null)[] = [];
  for (let position = 0; position < line.values.length; position += 1) {
    const value = line.values[position] ?? null;
    const isFew = (counts[position] ?? 0) < FEW;
    // A faint line is joined to the strong one beside it.
    const touches =
      !isFew && ((counts[position - 1] ?? FEW) < FEW || (counts[position + 1] ?? FEW) < FEW);
    many.push(isFew ? null : value);
    few.push(isFew || touches ? value : null);
  }
  return { many, few };
}

/** Spreads labels so that none covers another; positions are pixels from above. */
export function spread(wanted: readonly number[], gap: number, low: number, high: number): number[] {
  const order = wanted.map((y, position) => ({ y, position })).sort((a, b) => a.y - b.y);
  const placed = order.map(({ y }) => Math.max(low, y));
  for (let i = 1; i < placed.length; i += 1) {
    placed[i] = Math.max(placed[i] ?? 0, (placed[i - 1] ?? 0) + gap);
  }
  let limit = high;
  for (let i = placed.length - 1; i >= 0; i -= 1) {
    placed[i] = Math.max(low, Math.min(placed[i] ?? 0, limit));
    limit = (placed[i] ?? 0) - gap;
  }
  const result: number[] = [];
  order.forEach(({ position }, i) => (result[position] = placed[i] ?? 0));
  return result;
}
