// What a third party needs to judge a run, as lines: facts, verdicts, warnings, checks.

import type { FoldedWarning, LimitResult, Run, Step } from '../api/types';
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

/** What was measured and allowed, in a sentence. */
export function numbersOf({ found, allowed }: FoldedWarning): string {
  const parts = [found && `found: ${found}`, allowed && `allowed: ${allowed}`].filter(Boolean).join('; ');
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
