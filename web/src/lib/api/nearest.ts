// The report holds some answers; a request that is not among them gets the nearest one.

import { readSeconds } from '../lens/lens';

/** What may be dropped from a request, the least missed first. Never the measure. */
const ORDER = ['points', 'rows', 't', 'tile', 'host', 'wl', 'sel', 'bs', 'dir', 'step', 'by'] as const;

const WORDS: Record<string, string> = {
  t: 'the whole time',
  tile: 'all tiles',
  host: 'all hosts',
  wl: 'all workloads',
  sel: 'all pairs of size and direction',
  bs: 'all sizes',
  dir: 'reads and writes',
  step: 'all steps',
  by: 'the usual breakdown',
};

export interface Found {
  request: string;
  /** Keys that were dropped. */
  dropped: string[];
  /** Words for the chart; null where only the resolution differs. */
  note: string | null;
}

function split(request: string): [string, Map<string, string>] {
  const [view = '', query = ''] = request.split('?');
  const pairs = query.split('&').filter(Boolean).map((pair): [string, string] => {
    const mark = pair.indexOf('=');
    return [pair.slice(0, mark), pair.slice(mark + 1)];
  });
  return [view, new Map(pairs)];
}

function join(view: string, pairs: Map<string, string>): string {
  const keys = [...pairs.keys()].sort();
  return keys.length ? `${view}?${keys.map((key) => `${key}=${pairs.get(key)}`).join('&')}` : view;
}

/** Sets of keys to drop, the least missed first. */
function* losses(keys: string[]): Generator<string[]> {
  const costly = keys
    .map((key): [string, number] => [key, 2 ** ORDER.indexOf(key as (typeof ORDER)[number])])
    .filter(([, cost]) => cost >= 1);
  const sets = Array.from({ length: 2 ** costly.length }, (_, bits) =>
    costly.filter((_key, position) => bits & (1 << position)),
  );
  const cost = (set: [string, number][]): number => set.reduce((sum, [, one]) => sum + one, 0);
  yield* sets.sort((a, b) => cost(a) - cost(b)).map((set) => set.map(([key]) => key));
}

/** The stored moment nearest in time to the one asked for. */
function nearestMoment(view: string, pairs: Map<string, string>, known: ReadonlySet<string>): string | null {
  const wanted = readSeconds(pairs.get('at') ?? '');
  if (wanted === null) return null;
  const rest = new Map(pairs);
  rest.delete('at');
  const same = join(view, rest);
  let best: [number, string] | null = null;
  for (const request of known) {
    const [name, others] = split(request);
    const at = readSeconds(others.get('at') ?? '');
    if (name !== view || at === null) continue;
    others.delete('at');
    const far = Math.abs(at - wanted);
    if (join(name, others) === same && (!best || far < best[0])) best = [far, request];
  }
  return best?.[1] ?? null;
}

function noteOf(dropped: string[], moved: boolean): string | null {
  const words = dropped.flatMap((key) => WORDS[key] ?? []);
  const parts: string[] = [];
  if (words.length) parts.push(`this report holds it for ${words.join(', ')} only`);
  if (moved) parts.push('the nearest stored moment is shown');
  return parts.length ? parts.join('; ') : null;
}

/** The stored request nearest to the one asked for; null if there is none of its view. */
export function nearest(request: string, known: ReadonlySet<string>): Found | null {
  if (known.has(request)) return { request, dropped: [], note: null };
  const [view, pairs] = split(request);
  for (const dropped of losses([...pairs.keys()])) {
    const rest = new Map([...pairs].filter(([key]) => !dropped.includes(key)));
    const text = join(view, rest);
    if (known.has(text)) return { request: text, dropped, note: noteOf(dropped, false) };
    const moment = nearestMoment(view, rest, known);
    if (moment) return { request: moment, dropped, note: noteOf(dropped, true) };
    rest.delete('at');
    const without = join(view, rest);
    if (known.has(without)) return { request: without, dropped, note: noteOf(dropped, pairs.has('at')) };
  }
  return null;
}
