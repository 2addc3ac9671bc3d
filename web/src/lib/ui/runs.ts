// The list of runs: finding, words, commands.

import type { RunKind, RunRow } from '../api/types';
import { counted } from '../format';

/** `2026-11-22 06:00`, UTC as it is stored; `not known` of a trace that does not say. */
export const startedText = (started: string): string => {
  const found = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})/.exec(started);
  // Imported traces often begin at 0 of a clock of their own.
  if (!started || found?.[1]?.startsWith('1970')) return 'not known';
  return found ? `${found[1]} ${found[2]}` : started;
};

/** `datacenter on ext4 on vda`; of a trace whose file is named as its device the name once. */
export const placeOf = (run: RunRow): string => (run.target && run.target !== run.tile ? `${run.tile} on ${run.target}` : run.tile);

/** `quick, disks 1/512`: what a reader must know before the number. */
export const scaleText = (run: RunRow): string => [run.profile, run.scale].filter(Boolean).join(', ');

export const KINDS: Readonly<Record<RunKind, { name: string; words: string }>> = {
  measured: { name: 'Measured', words: 'on real storage' },
  simulated: { name: 'Simulated', words: 'a model of storage: nothing real was measured' },
  replayed: { name: 'Replayed', words: 'a trace was played' },
  recorded: { name: 'Trace', words: 'the I/O of something else, recorded or imported' },
  watched: { name: 'Watched', words: 'the I/O of a host, all the time' },
  sample: { name: 'Sample', words: 'comes with the program' },
};

/** True where the I/O was only observed: there is nothing to judge. */
export const isObserved = (run: RunRow): boolean => run.kind === 'recorded' || run.kind === 'watched';

/** What a run's state is called in `Verdict`. */
export function stateOf(run: RunRow): string {
  if (run.state !== 'complete') return run.state;
  // A trace that nobody opened yet has no status.
  if (isObserved(run) && (run.status ?? 'complete') === 'complete') return 'observed';
  return run.status ?? run.state;
}

/** `3 runs`, `3 runs and 1 trace`, `1 trace`: what was observed is no run. */
export function countedRows(rows: readonly RunRow[]): string {
  const traces = rows.filter(isObserved).length;
  const parts = [rows.length - traces ? counted(rows.length - traces, 'run') : '', traces ? counted(traces, 'trace') : ''];
  return parts.filter(Boolean).join(' and ') || counted(0, 'run');
}

/** The oldest stored run: what `runs rm` could remove first; a trace is no run of its own. */
export const oldestRun = (rows: readonly RunRow[]): RunRow | null =>
  rows.filter((row) => !isObserved(row) && row.kind !== 'sample' && row.state !== 'running').at(-1) ?? null;

/** Runs that every word is found in, of one kind if one is chosen. */
export function findRuns(runs: readonly RunRow[], text: string, kind: string): RunRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((run) => {
    if (kind && run.kind !== kind) return false;
    const all = `${run.id} ${run.tile} ${run.target} ${run.kind} ${stateOf(run)} ${run.started} ${run.sentence}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** The address that compares what was chosen, the older run as the baseline; null unless there are two. */
export function compareAddress(chosen: readonly string[], runs: readonly RunRow[]): string | null {
  if (chosen.length !== 2) return null;
  const started = (id: string): string => runs.find((run) => run.id === id)?.started ?? '';
  const [a = '', b = ''] = [...chosen].sort((one, two) => (started(one) < started(two) ? -1 : 1));
  return `/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`;
}

/** How many runs stand side by side at most; as many as the server takes. */
export const BESIDE_MAX = 24;

/** The address of the chosen runs side by side; null where fewer than two are runs of tiles. */
export function besideAddress(chosen: readonly string[], runs: readonly RunRow[]): string | null {
  const own = runs.filter((run) => chosen.includes(run.id) && !isObserved(run) && run.state === 'complete');
  return own.length < 2 ? null : `/trend?runs=${own.map(({ id }) => encodeURIComponent(id)).join(',')}`;
}

/** Chooses one more, or one less; of too many the one chosen first goes. */
export function choose(chosen: readonly string[], id: string): string[] {
  return chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id].slice(-BESIDE_MAX);
}

/** Commands that do what this page does not. */
export const COMMANDS = [
  { text: 'tilemark run --quick .', label: 'Measure the storage of this directory, in five minutes:' },
  { text: 'tilemark simulate --array vnx5500 --tiles 1..5', label: 'Ask a modelled array instead; nothing is written:' },
  { text: 'tilemark record', label: 'Watch what disks of this machine do:' },
  { text: 'tilemark import TRACE --out NAME', label: 'Bring in a trace of another tool (blktrace, vscsiStats, fio and others):' },
] as const;
