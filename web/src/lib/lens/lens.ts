// What part of the run is looked at, and how. One grammar for the page's address, the interface
// and the report; the keys of a request are those of `crates/face/view/src/request.rs`.

import type { ViewName } from '../api/types';

export const CLASSES = ['0k', '4k', '8k', '16k', '32k', '64k', '128k', '256k'] as const;

export type Measure = 'iops' | 'bw' | 'lat';
export type Breakdown = 'none' | 'rw' | 'bs' | 'wl' | 'tile' | 'host' | 'sel';
export type Direction = 'r' | 'w';
export type Statistic = 'p50' | 'p95' | 'p99' | 'max';

/** Direction and class of sizes. */
export type Pair = readonly [Direction, number];

/** Times are whole milliseconds on the run's axis, so that they keep what an address can say. */
export interface Lens {
  readonly t: readonly [number, number | null] | null;
  readonly step: number | null;
  readonly dir: Direction | null;
  readonly bs: readonly number[];
  readonly sel: readonly Pair[];
  readonly tile: readonly number[];
  readonly host: readonly string[];
  readonly wl: readonly string[];
  readonly m: Measure;
  readonly by: Breakdown;
  readonly s: Statistic;
  readonly at: number | null;
}

export const USUAL: Lens = {
  t: null,
  step: null,
  dir: null,
  bs: [],
  sel: [],
  tile: [],
  host: [],
  wl: [],
  m: 'iops',
  by: 'rw',
  s: 'p99',
  at: null,
};

/** Keys of the lens in the order of the alphabet. */
const KEYS = ['at', 'bs', 'by', 'dir', 'host', 'm', 's', 'sel', 'step', 't', 'tile', 'wl'] as const;
type Key = (typeof KEYS)[number];

const FILTERS = ['t', 'step', 'dir', 'bs', 'sel', 'tile', 'host', 'wl'] as const;

/** The keys each view uses; others are left out of its request. */
export const VIEW_KEYS: Record<ViewName, readonly string[]> = {
  overview: FILTERS,
  breaks: FILTERS,
  map: FILTERS,
  matrix: ['t', 'step', 'tile', 'host', 'wl'],
  series: [...FILTERS, 'm', 'by', 'points'],
  actions: ['t', 'step', 'wl', 'm', 'points'],
  calls: ['t', 'step', 'wl', 'm', 'points'],
  heatmap: [...FILTERS, 'points', 'rows'],
  percentiles: [...FILTERS, 'by'],
  moment: [...FILTERS, 'at'],
  curve: [],
  access: [],
  tier: ['t', 'step', 'points'],
  machine: ['t', 'step', 'points'],
  watch: ['t', 'wl', 'points'],
};

const MEASURES: readonly string[] = ['iops', 'bw', 'lat'];
const BREAKDOWNS: readonly string[] = ['none', 'rw', 'bs', 'wl', 'tile', 'host', 'sel'];
const STATISTICS: readonly string[] = ['p50', 'p95', 'p99', 'max'];

/** Seconds with at most three decimals as milliseconds; null if it is none. */
export function readSeconds(text: string): number | null {
  const found = /^(\d+)(?:\.(\d{0,3}))?$/.exec(text);
  if (!found) return null;
  return Number(found[1]) * 1000 + Number((found[2] ?? '').padEnd(3, '0'));
}

/** Milliseconds as seconds with as few decimals as needed. */
export function writeSeconds(ms: number): string {
  const whole = Math.floor(ms / 1000);
  const part = Math.round(ms % 1000);
  return part === 0 ? `${whole}` : `${whole}.${String(part).padStart(3, '0')}`.replace(/0+$/, '');
}

function readSpan(text: string): Lens['t'] {
  const dash = text.indexOf('-');
  if (dash < 0) return null;
  const from = readSeconds(text.slice(0, dash));
  const rest = text.slice(dash + 1);
  if (from === null) return null;
  if (rest === '') return [from, null];
  const to = readSeconds(rest);
  return to !== null && from < to ? [from, to] : null;
}

const classOf = (label: string): number => (CLASSES as readonly string[]).indexOf(label);
const ascending = (a: number, b: number): number => a - b;
const once = <T>(list: T[]): T[] => [...new Set(list)];

function readClasses(text: string): number[] {
  return once(text.split(',').map(classOf).filter((found) => found >= 0)).sort(ascending);
}

function readPairs(text: string): Pair[] {
  const pairs = text.split(',').flatMap((pair): Pair[] => {
    const found = classOf(pair.slice(1));
    const dir = pair[0];
    return found >= 0 && (dir === 'r' || dir === 'w') ? [[dir, found]] : [];
  });
  return sortPairs(pairs);
}

/** Reads before writes, small before large, each once. */
export function sortPairs(pairs: readonly Pair[]): Pair[] {
  const order = ([dir, found]: Pair): number => (dir === 'w' ? 8 : 0) + found;
  const known = new Map(pairs.map((pair) => [order(pair), pair]));
  return [...known].sort(([a], [b]) => a - b).map(([, pair]) => pair);
}

function positive(text: string): number | null {
  return /^\d+$/.test(text) && Number(text) > 0 ? Number(text) : null;
}

/** Reads an address's query. What makes no sense is left out, so that an old address opens. */
export function readLens(query: URLSearchParams): Lens {
  const text = (key: Key): string => query.getAll(key).join(',');
  const oneOf = <T extends string>(key: Key, known: readonly string[], usual: T): T =>
    known.includes(text(key)) ? (text(key) as T) : usual;
  const dir = text('dir');
  return {
    t: readSpan(text('t')),
    step: positive(text('step')),
    dir: dir === 'r' || dir === 'w' ? dir : null,
    bs: readClasses(text('bs')),
    sel: readPairs(text('sel')),
    tile: once(text('tile').split(',').flatMap((tile) => positive(tile) ?? [])).sort(ascending),
    host: once(text('host').split(',').filter(Boolean)).sort(),
    wl: once(text('wl').split(',').filter(Boolean)).sort(),
    m: oneOf('m', MEASURES, USUAL.m),
    by: oneOf('by', BREAKDOWNS, USUAL.by),
    s: oneOf('s', STATISTICS, USUAL.s),
    at: readSeconds(text('at')),
  };
}

/** A key's text; null where it has its usual value. */
function textOf(lens: Lens, key: string): string | null {
  const listed = (list: readonly string[]): string | null => (list.length ? list.join(',') : null);
  const unless = (value: string, usual: string): string | null => (value === usual ? null : value);
  switch (key) {
    case 't':
      if (!lens.t) return null;
      return `${writeSeconds(lens.t[0])}-${lens.t[1] === null ? '' : writeSeconds(lens.t[1])}`;
    case 'step':
      return lens.step === null ? null : String(lens.step);
    case 'dir':
      return lens.dir;
    case 'bs':
      return listed(lens.bs.map((found) => CLASSES[found] ?? ''));
    case 'sel':
      return listed(lens.sel.map(([dir, found]) => `${dir}${CLASSES[found]}`));
    case 'tile':
      return listed(lens.tile.map(String));
    case 'host':
      return listed(lens.host);
    case 'wl':
      return listed(lens.wl);
    case 'm':
      return unless(lens.m, USUAL.m);
    case 'by':
      return unless(lens.by, USUAL.by);
    case 's':
      return unless(lens.s, USUAL.s);
    case 'at':
      return lens.at === null ? null : writeSeconds(lens.at);
    default:
      return null;
  }
}

/** The address's query without its question mark: usual values leave no trace. */
export function writeLens(lens: Lens, extra: Readonly<Record<string, string>> = {}): string {
  const pairs = KEYS.flatMap((key): [string, string][] => {
    const text = textOf(lens, key);
    return text === null ? [] : [[key, text]];
  });
  const more = Object.entries(extra).filter(([, value]) => value !== '');
  return [...pairs, ...more.sort(([a], [b]) => (a < b ? -1 : 1))]
    .map(([key, value]) => `${key}=${escape(value)}`)
    .join('&');
}

/** Like `encodeURIComponent`, but commas and colons stay readable. */
function escape(value: string): string {
  return encodeURIComponent(value).replace(/%2C/g, ',').replace(/%3A/g, ':');
}

/** What can be asked beside the lens. */
export interface Extent {
  points?: number;
  rows?: number;
}

/**
 * The one text of a view through a lens: `series?bs=64k&m=lat`, keys in the order of the
 * alphabet, none with its usual value. The report's answers are found by it.
 */
export function canonical(view: ViewName, lens: Lens, extent: Extent = {}): string {
  const pairs = [...VIEW_KEYS[view]].sort().flatMap((key) => {
    const text = key === 'points' || key === 'rows' ? extentOf(extent, key) : textOf(lens, key);
    return text === null ? [] : [`${key}=${text}`];
  });
  return pairs.length ? `${view}?${pairs.join('&')}` : view;
}

function extentOf(extent: Extent, key: 'points' | 'rows'): string | null {
  const value = extent[key];
  const usual = key === 'points' ? 600 : 120;
  return value === undefined || value === usual ? null : String(value);
}

/** The path of a request below a run: the same text, escaped. */
export function requestPath(request: string): string {
  const [view = '', query = ''] = request.split('?');
  if (!query) return view;
  const pairs = query.split('&').map((pair) => {
    const [key = '', ...value] = pair.split('=');
    return `${key}=${escape(value.join('='))}`;
  });
  return `${view}?${pairs.join('&')}`;
}

/** Points of latencies by more than direction (`CROWDED_POINTS` of the report's answers). */
const CROWDED_POINTS = 60;

/**
 * How many points a line chart asks for: percentiles of many parts over short times cross one
 * another until none can be followed, so those are of longer times, each merged from all its I/Os.
 */
export function pointsOf(measure: Measure, by: Breakdown): Extent {
  return measure === 'lat' && by !== 'rw' && by !== 'none' ? { points: CROWDED_POINTS } : {};
}

/** Adds what is missing, removes what is there. */
export function toggle<T>(list: readonly T[], value: T): T[] {
  return list.includes(value) ? list.filter((other) => other !== value) : [...list, value];
}
