// Axes: where ticks are and how they are called.

import { bytes, clock, hasDates, latency, originNs, share, shortDate, significant } from '../format';

export interface Tick {
  value: number;
  label: string;
}

const STEPS_S = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900,
  1800, 3600, 7200, 14400, 28800,
];
/** Steps where positions are dates. */
const STEPS_OF_DATES_S = [
  1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 2592000, 7776000,
];

/** Ticks of time under load between two positions, nanoseconds; about `count` of them. */
export function timeTicks(from: number, to: number, count: number): Tick[] {
  const wanted = (to - from) / 1e9 / Math.max(1, count);
  if (hasDates()) return dateTicks(from, to, wanted);
  const step = STEPS_S.find((step) => step >= wanted) ?? 28800;
  const decimals = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3;
  const ns = step * 1e9;
  const list: Tick[] = [];
  for (let at = Math.ceil(from / ns) * ns; at <= to; at += ns) {
    list.push({ value: at, label: clock(at, decimals) });
  }
  return list;
}

/** Ticks at whole minutes, hours and days (UTC). */
function dateTicks(from: number, to: number, wanted: number): Tick[] {
  const step = (STEPS_OF_DATES_S.find((step) => step >= wanted) ?? 7776000) * 1e9;
  const first = Math.ceil((from + originNs()) / step) * step - originNs();
  const list: Tick[] = [];
  for (let at = first; at <= to; at += step) list.push({ value: at, label: shortDate(at, step) });
  return list;
}

/**
 * Those of some whole numbers, ascending, whose labels do not touch: the first and the last always
 * (where both fit), the others from the left as far as there is room.
 */
export function apartFrom(values: readonly number[], x: (value: number) => number, font: number): number[] {
  const half = (value: number): number => (String(value).length * font * 0.6) / 2 + 2;
  const clear = (a: number, b: number): boolean => x(b) - x(a) >= half(a) + half(b);
  const last = values.at(-1);
  const kept: number[] = [];
  for (const value of values) {
    const before = kept.at(-1);
    const fits = before === undefined || clear(before, value);
    if (fits && (value === last || last === undefined || clear(value, last) || before === undefined)) kept.push(value);
  }
  return kept;
}

/** Powers of ten, and 2 and 5 between them where few decades are shown. */
export function logTicks(low: number, high: number, most: number): number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const decades = last - first;
  const factors = decades <= most / 3 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / most));
  const list: number[] = [];
  for (let power = first; power <= last; power += every) {
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) list.push(value);
    }
  }
  return list;
}

/** The label of a value on an axis. */
export function axisLabel(value: number, unit: string): string {
  switch (unit) {
    case 'ns':
      return latency(value);
    case 'bytes_per_s':
      return `${bytes(value)}/s`;
    case 'bytes':
      return bytes(value);
    case 'share':
      return share(value);
    default:
      return Math.abs(value) >= 1e6
        ? `${significant(value / 1e6)} M`
        : Math.abs(value) >= 10_000
          ? `${significant(value / 1e3)} k`
          : significant(value);
  }
}

/** Round positions between two values: one, two or five times a power of ten apart, about `count`. */
export function evenTicks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low];
  const wanted = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = power * ([10, 5, 2, 1].find((factor) => wanted / power >= factor / Math.SQRT2) ?? 1);
  const first = Math.ceil(low / step - 1e-9);
  // Of tenths no sums: 3 * 0.1 is not 0.3.
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, at) => +((first + at) * step).toPrecision(12));
}

/** Round positions from 0 to `most`; of bytes powers of two. */
export function valueTicks(most: number, unit: string, count: number): number[] {
  if (!(most > 0)) return [0];
  if (unit !== 'bytes' && unit !== 'bytes_per_s') return evenTicks(0, most, count);
  const power = 2 ** (10 * Math.floor(Math.log2(most) / 10));
  return evenTicks(0, most / power, count).map((value) => value * power);
}

// Charts of a page begin and end at the same pixels, so that one cursor goes through all.

/** Room above a drawing: the name of the axis, and the steps of the run. */
export const TOP = 34;

/** Size of text in a chart, pixels: smaller on a telephone, larger on a wall. */
export const fontOf = (width: number): number => (width < 480 ? 11 : width > 2600 ? 18 : width > 1600 ? 15 : 12);

/** Size of an axis' name: it stands in the 14 pixels above the marks of steps. */
export const axisFont = (width: number): number => Math.min(14, fontOf(width));

/** Room for the labels of the vertical axis. */
export const leftOf = (width: number): number => (width < 480 ? 58 : width > 2600 ? 116 : width > 1600 ? 96 : 76);

/** Room for names at the ends of lines. */
export function rightOf(width: number, labels: readonly string[]): number {
  const longest = Math.max(...labels.map((label) => label.length), 0);
  const letter = fontOf(width) * 0.55;
  return Math.max(width < 480 ? 60 : letter * 14, Math.min(26 + longest * letter, width * (width < 480 ? 0.42 : 0.3)));
}

/** Letters of a name that stand at the end of a line. */
const lettersAt = (width: number, labels: readonly string[]): number =>
  Math.floor((rightOf(width, labels) - 24) / (fontOf(width) * 0.55));

/** Whether a name has no room at the end of its line: all names stand below the chart then. */
export const isTight = (width: number, labels: readonly string[]): boolean =>
  labels.some((label) => label.length > lettersAt(width, labels));

/** As much of a name as stands at the end of its line. */
export function ended(label: string, width: number, labels: readonly string[]): string {
  const letters = lettersAt(width, labels);
  return label.length <= letters ? label : `${label.slice(0, Math.max(3, letters - 1)).trimEnd()}…`;
}
