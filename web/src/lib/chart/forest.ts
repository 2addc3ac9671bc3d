// Differences of two runs, figure by figure.

import type { CompareMetric, CompareReason } from '../api/types';
import { changeText, counted, inUnit, significant } from '../format';

const ORDER = ['worse', 'better', 'inconclusive', 'same'];

/** What matters first: worse, better, undecided, same; in each the largest change first. */
export function sortMetrics(metrics: readonly CompareMetric[]): CompareMetric[] {
  const place = (metric: CompareMetric): number => {
    const found = ORDER.indexOf(metric.verdict);
    return found < 0 ? ORDER.length : found;
  };
  return [...metrics].sort((a, b) => place(a) - place(b) || size(b) - size(a));
}

/** How large a change is: twice as much is as large as half as much. */
const size = (metric: CompareMetric): number => (metric.change === null ? 0 : Math.abs(stretch(metric.change)));

/** A change on a scale of ratios: doubling and halving are equally far from nothing. */
export const stretch = (change: number): number => Math.log(1 + Math.max(change, -0.995));

/** A median with its unit; tiles may be halves. */
export function valueText(value: number | null, unit: string): string {
  if (value === null) return '–';
  if (unit === 'tiles') return `${significant(value)} ${value === 1 ? 'tile' : 'tiles'}`;
  return unit === "tiles' worth" ? `${significant(value)} tiles’ worth` : inUnit(value, unit);
}

/** The interval of a change in words. */
export function intervalText(metric: CompareMetric): string {
  if (metric.low === null || metric.high === null) return 'no interval';
  return `${changeText(metric.low)} to ${changeText(metric.high)}`;
}

/** Changes that ticks may stand for. */
const TICKS = [-0.99, -0.9, -0.75, -0.5, -0.25, -0.1, -0.05, -0.02, 0, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 9, 19, 49, 99];

/** How far the axis reaches to both sides, on the scale of ratios: all changes, and most of their intervals. */
export function reach(metrics: readonly CompareMetric[]): number {
  const changes = metrics.flatMap(({ change }) => (change === null ? [] : [Math.abs(stretch(change))]));
  const ends = metrics.flatMap(({ low, high }) => [low, high].flatMap((end) => (end === null ? [] : [Math.abs(stretch(end))])));
  const most = Math.max(0.03, ...changes);
  // One wide interval does not press all others together; it runs off the edge with an arrow.
  return Math.min(Math.max(most, ...ends), most * 2.5) * 1.1;
}

/** Ticks that keep `gap` apart on an axis from -reach to reach that is `width` long; zero always. */
export function changeTicks(reach: number, width: number, gap: number): number[] {
  const at = (change: number): number => (stretch(change) / reach) * (width / 2);
  const shown = [0];
  const inOrder = [...TICKS].sort((a, b) => Math.abs(stretch(b)) - Math.abs(stretch(a)));
  for (const tick of inOrder) {
    if (Math.abs(stretch(tick)) > reach) continue;
    if (shown.every((other) => Math.abs(at(other) - at(tick)) >= gap)) shown.push(tick);
  }
  return shown.sort((a, b) => a - b);
}

/** A figure in words, for whoever hears it. */
export function metricWords(metric: CompareMetric): string {
  const values = `${valueText(metric.a, metric.unit)} in A, ${valueText(metric.b, metric.unit)} in B`;
  const repeats = `repeats: ${metric.samples[0] ?? 0} and ${metric.samples[1] ?? 0}`;
  return `${metric.name}: ${values}, ${changeText(metric.change)} (${intervalText(metric)}), ${metric.better} is better: ${metric.verdict}` +
    `${metric.reason ? `, ${metric.reason}` : ''}; ${repeats}`;
}

/** Each reason once, with the figures that have it, as the terminal says them. */
export function reasonLines(reasons: readonly CompareReason[], all: number): string[] {
  return reasons.map(({ text, figures }) => `${figures} of ${counted(all, 'figure')}: ${text}.`);
}

/** The first and last row of a difference in which anything differs; null if nothing does. */
export function filledRows(difference: readonly (readonly number[])[]): [number, number] | null {
  const rows = difference.flatMap((column) => column.flatMap((value, row) => (value === 0 ? [] : [row])));
  return rows.length ? [Math.min(...rows), Math.max(...rows)] : null;
}
