// What a third party needs to judge a run, as lines: facts, verdicts, warnings, checks.

import type { LimitResult, Run, RunPage, Step, Warning } from '../api/types';
import type { Table } from '../chart/table';
import { bytes, counted, latency, share, significant, span, whole } from '../format';

/** Leaves of a document as lines of key and value. */
export function leaves(value: unknown, key = ''): [string, string][] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) {
    return value.length ? [[key, value.join(', ')]] : [];
  }
  if (typeof value === 'object') {
    return Object.entries(value).flatMap(([name, inner]) => leaves(inner, key ? `${key}.${name}` : name));
  }
  return [[key, withUnit(key, value)]];
}

/** A value whose key names its unit, in that unit; the exact number beside it. */
export function withUnit(key: string, value: unknown): string {
  const number = typeof value === 'number' ? value : typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : null;
  if (number === null) return String(value);
  if (/[_-]bytes(_|$)/.test(key)) return number < 1024 ? `${number} B` : `${bytes(number)} (${whole(number)} B)`;
  if (/[_-]ns(_|$)/.test(key)) return latency(number);
  return String(value);
}

/** How a run was measured. */
export function factsOf(run: Run, page: RunPage): [string, string][] {
  const { target, tile, engine, scale } = run;
  const scales = [
    scale && scale.footprint !== 1 ? `disks at ${share(scale.footprint)} of their size` : '',
    scale && scale.time !== 1 ? `time at ${share(scale.time)}` : '',
  ].filter(Boolean);
  return [
    ['Tilemark', `${run.tool.version}${run.tool.commit ? ` (commit ${run.tool.commit})` : ''}`],
    ['Run', run.id],
    ['Started', run.started],
    ['Ended', run.ended ?? 'not yet'],
    ['Time under load', span(page.row.duration_ns)],
    ['Target', `${target.summary} (${target.kind}), ${target.datastore}${target.capacity_bytes ? `, ${bytes(target.capacity_bytes)}` : ''}`],
    ...(target.array_sha256 ? [['Model of the array, SHA-256', target.array_sha256] as [string, string]] : []),
    ['Tile', `${tile.name}: ${counted(tile.vms, 'VM')}, ${counted(tile.workloads, 'workload')}, ${bytes(tile.disk_bytes)} of disks`],
    ['Scale', scales.length ? scales.join(', ') : 'full: disks and time as the tile says'],
    ['Tile definition, SHA-256', tile.sha256],
    ['Plan, SHA-256', run.plan_sha256],
    ['Seed', `${run.seed} (${run.random_generator})`],
    ['Profile', run.profile],
    ['Engine', `${engine.backend}, ${counted(engine.workers, 'thread')}, depth ${engine.depth}, ${engine.buffered ? 'through the page cache' : 'not through the page cache (O_DIRECT)'}`],
    ['Resolution', `slices of ${latency(engine.slice_ns)}`],
    ['Percentiles', 'of merged histograms, never means of percentiles; service time unless said otherwise'],
  ];
}

/** The score with its interval and definition; null without steps. */
export function scoreOf(run: Run): { text: string; interval: string; definition: string } | null {
  const score = run.answer?.score;
  if (!score) return null;
  const held = run.steps.filter((step) => step.tiles === run.answer.tiles_held && step.score).at(-1);
  const interval = run.answer.score_interval ?? null;
  return {
    text: score.value === null ? `none: ${score.reason ?? 'nothing was scored'}` : significant(score.value),
    interval: interval ? `${significant(interval.low)} to ${significant(interval.high)} (${share(interval.confidence)}; ${interval.method})` : 'no interval',
    definition: held?.score?.definition ?? '',
  };
}

/** Warnings of one code with one advice, told as one. The twin of `Told` in `crates/base/run-store/src/run/told.rs`. */
export interface Told {
  warning: Warning;
  /** Where and how often: `at 1, 2, 4 tiles, 24 times`; empty for what was said once of the run. */
  where: string;
  /** What the first says, and of what else. */
  text: string;
  /** What was measured and allowed, in a sentence. */
  numbers: string;
}

/** How many differences are named before the rest is only counted. */
const NAMED_MAX = 12;

const listed = (items: readonly string[]): string =>
  items.length > NAMED_MAX ? `${items.slice(0, NAMED_MAX).join(', ')} and ${items.length - NAMED_MAX} more` : items.join(', ');

/** Warnings of the run, then of its steps; those of one code and advice once. */
export function warningsOf(run: Run): Told[] {
  const groups = new Map<string, { warnings: Warning[]; tiles: number[] }>();
  const add = (warning: Warning, tiles: number | null): void => {
    const key = `${warning.id}\n${warning.hint ?? ''}\n${tiles === null ? 'run' : 'step'}`;
    const group = groups.get(key) ?? { warnings: [], tiles: [] };
    group.warnings.push(warning);
    if (tiles !== null) group.tiles.push(tiles);
    groups.set(key, group);
  };
  run.warnings.forEach((warning) => add(warning, null));
  run.steps.forEach((step) => (step.warnings ?? []).forEach((warning) => add(warning, step.tiles)));
  return [...groups.values()].flatMap(({ warnings, tiles }) => {
    const [first] = warnings;
    if (!first) return [];
    const likewise = differences([...new Set(warnings.map(({ text }) => text))]);
    return {
      warning: first,
      where: placeOf([...new Set(tiles)].sort((a, b) => a - b), warnings.length),
      text: likewise.length ? `${first.text}; likewise ${listed(likewise)}` : first.text,
      numbers: numbersOf(warnings),
    };
  });
}

/** What all but the first say between the words that all begin and end with. */
function differences(texts: readonly string[]): string[] {
  const words = texts.map((text) => text.split(' '));
  const shortest = Math.min(...words.map((own) => own.length));
  const same = (at: (own: readonly string[]) => number): boolean => new Set(words.map((own) => own[at(own)])).size === 1;
  let begin = 0;
  while (begin < shortest && same(() => begin)) begin += 1;
  let end = 0;
  while (end < shortest - begin && same((own) => own.length - 1 - end)) end += 1;
  return words.slice(1).map((own) => own.slice(begin, own.length - end).join(' ').replace(/[:,]$/, '') || own.join(' '));
}

function placeOf(tiles: readonly number[], times: number): string {
  const [first, last] = [tiles[0] ?? 0, tiles.at(-1) ?? 0];
  const isRange = tiles.length > 2 && last - first + 1 === tiles.length;
  const at = tiles.length ? `at ${isRange ? `${first} to ${last}` : tiles.join(', ')} ${last === 1 ? 'tile' : 'tiles'}` : '';
  return [at, times > Math.max(tiles.length, 1) ? counted(times, 'time') : ''].filter(Boolean).join(', ');
}

function numbersOf(warnings: readonly Warning[]): string {
  const each = (texts: readonly (string | null | undefined)[]): string[] => [...new Set(texts.filter((text) => text !== null && text !== undefined))];
  const [found, allowed] = [each(warnings.map(({ value }) => value)), each(warnings.map(({ limit }) => limit))];
  const parts = [found.length ? `found: ${listed(found)}` : '', allowed.length ? `allowed: ${listed(allowed)}` : ''].filter(Boolean).join('; ');
  return parts ? `${parts[0]?.toUpperCase() ?? ''}${parts.slice(1)}.` : '';
}

export interface VerdictRow {
  step: Step;
  workload: string;
  limit: LimitResult;
}

/** Verdicts of all tiles together, by step. */
export const pooledVerdicts = (run: Run): VerdictRow[] =>
  run.steps.flatMap((step) => (step.limits ?? []).map((pooled) => ({ step, workload: pooled.workload, limit: pooled.result })));

export const intervalText = (limit: LimitResult): string =>
  limit.interval_low_ns === null || limit.interval_high_ns === null
    ? 'none'
    : `${latency(limit.interval_low_ns)} to ${latency(limit.interval_high_ns)}${limit.confidence === null ? '' : ` (${share(limit.confidence)})`}`;

/** Verdicts of each tile's workloads, as a table of many pages. */
export function tileVerdicts(run: Run): Table {
  return {
    columns: [
      { label: 'Tiles in the step', unit: 'count' }, { label: 'Repeat', unit: 'count' }, { label: 'Tile', unit: 'count' }, { label: 'Workload', unit: 'text' },
      { label: 'Limit', unit: 'text' }, { label: 'Measured', unit: 'ns' }, { label: 'Interval from', unit: 'ns' }, { label: 'Interval to', unit: 'ns' },
      { label: 'Allowed', unit: 'ns' }, { label: 'Samples', unit: 'count' }, { label: 'Verdict', unit: 'text' }, { label: 'Why', unit: 'text' },
    ],
    rows: run.steps.flatMap((step) => (step.workloads ?? []).flatMap((result) => result.limits.map((limit) => [
      step.tiles, step.repeat, result.tile == null ? null : result.tile + 1, result.workload, `${limit.name} ${limit.statistic}`, limit.measured_ns,
      limit.interval_low_ns, limit.interval_high_ns, limit.limit_ns, limit.samples, limit.verdict, limit.reason,
    ]))),
  };
}

/** A figure, or why there is none. */
const told = (figure: { value: number | null; reason?: string | null } | undefined): number | string | null => figure?.value ?? figure?.reason ?? null;

/** What meters of watts read in each step, and what that makes of its score. */
export function wattsOf(run: Run): Table {
  const idle = (name: string): number | string | null => {
    const watts = run.meters?.find((meter) => meter.name === name)?.idle_watts;
    return watts?.value ?? watts?.reason ?? null;
  };
  return {
    columns: [
      { label: 'Tiles in the step', unit: 'count' }, { label: 'Repeat', unit: 'count' }, { label: 'Of', unit: 'text' }, { label: 'Idle', unit: 'watts' },
      { label: 'Mean', unit: 'watts' }, { label: 'At most', unit: 'watts' }, { label: 'Joules', unit: 'count' }, { label: 'Score per kilowatt', unit: 'score' },
    ],
    rows: run.steps.flatMap(({ tiles, repeat, power }) => [
      ...(power?.meters ?? []).map((meter) => [
        tiles, repeat, `${meter.meter} (${meter.scope})`, idle(meter.meter), told(meter.mean_watts), meter.most_watts ?? null, told(meter.joules), null,
      ]),
      ...(power?.per_kilowatt ?? []).map((own) => [tiles, repeat, own.category, null, told(own.mean_watts), null, null, told(own.score_per_kilowatt)]),
    ]),
  };
}

/** How often each infrastructure operation was done, step by step; 1 of its reference if storage took no time. */
export function operationsOf(run: Run): Table {
  return {
    columns: [
      { label: 'Tiles in the step', unit: 'count' }, { label: 'Repeat', unit: 'count' }, { label: 'Operation', unit: 'text' }, { label: 'Rate', unit: 'score' },
      { label: 'In', unit: 'text' }, { label: 'Of its reference', unit: 'share' }, { label: 'Done', unit: 'count' }, { label: 'Failed', unit: 'count' },
    ],
    rows: run.steps.flatMap(({ tiles, repeat, workloads }) => (workloads ?? []).filter(({ tile }) => tile == null).map(({ workload, metric, actions }) => [
      tiles, repeat, workload, metric.value.value ?? metric.value.reason ?? null, metric.unit, metric.normalised.value, actions[0]?.count ?? null, actions[0]?.errors ?? null,
    ])),
  };
}

/** What infrastructure operations cost the tiles, step by step, and what they add to the score. */
export function costOfOperations(run: Run): Table {
  return {
    columns: [
      { label: 'Tiles in the step', unit: 'count' }, { label: 'Repeat', unit: 'count' }, { label: 'Score of applications', unit: 'score' },
      { label: 'Of operations', unit: 'score' }, { label: 'Whole score', unit: 'score' }, { label: 'Operations, of the time', unit: 'share' },
      { label: 'The tiles’ actions then took', unit: 'ratio' }, { label: 'Interval from', unit: 'ratio' }, { label: 'Interval to', unit: 'ratio' }, { label: 'Samples', unit: 'count' },
    ],
    rows: run.steps.flatMap(({ tiles, repeat, score, under_operations: under }) => (under ? [[
      tiles, repeat, told(score?.applications), told(score?.infrastructure), told(score?.total), under.share_of_time,
      told(under.against_rest.times), told(under.against_rest.low), told(under.against_rest.high), under.against_rest.samples,
    ]] : [])),
  };
}

/** Whether the load generator itself kept up, in words. */
export function generatorText(step: Step): string {
  const health = step.generator;
  if (!health) return 'not recorded';
  const late = health.lateness_p99_ns === null ? '' : `late by ${latency(health.lateness_p99_ns)} (p99)`;
  const cpu = health.worker_cpu_max?.value == null ? '' : `busiest thread ${share(health.worker_cpu_max.value)}`;
  return [health.saturated ? 'saturated: it could not keep up' : 'kept up', late, cpu].filter(Boolean).join(', ');
}

/** How many of a step's self-checks passed, and those that did not. */
export function checksText(step: Step): string {
  const checks = step.checks ?? [];
  if (checks.length === 0) return 'none';
  const failed = checks.filter((check) => !check.passed);
  const words = failed.map((check) => `${check.id}: ${significant(check.found.value ?? 0)} instead of ${significant(check.expected.value ?? 0)} ${check.unit}`);
  return `${checks.length - failed.length} of ${whole(checks.length)} passed${words.length ? `; ${words.join('; ')}` : ''}`;
}

/** I/Os of a step that ended in an error. */
export const errorsOf = (step: Step): number => (step.io ?? []).reduce((sum, io) => sum + io.errors, 0);
