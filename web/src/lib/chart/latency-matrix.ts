// The two matrices of latency as plans to draw.

import type { LatencyMatrix, LoadMatrix, MatrixPanel } from '../api/types';
import { CLASS_NAMES, CLASS_RANGES, counted, latency } from '../format';
import { logTicks } from './axis';
import { among, type MatrixCell, type MatrixPlan } from './matrix';
import type { Table } from './table';

const colourOf = (ramp: Uint8Array, part: number): string => {
  const at = Math.max(0, Math.min(255, Math.round(part * 255))) * 4;
  return `rgb(${ramp[at]}, ${ramp[at + 1]}, ${ramp[at + 2]})`;
};

const titled = (direction: string): string => (direction === 'read' ? 'Reads' : 'Writes');

/** Between which times a row lies: below the first edge, between two, or above the last. */
function rowWords(edges: readonly number[], row: number): string {
  if (row === 0) return `at most ${latency(edges[0])}`;
  if (row >= edges.length) return `above ${latency(edges.at(-1))}`;
  return `${latency(edges[row - 1])} to ${latency(edges[row])}`;
}

/** Where time goes: I/Os by class of sizes and service time. */
export function wherePlan(doc: LatencyMatrix, ramp: Uint8Array): MatrixPlan[] {
  const most = Math.max(2, ...doc.panels.flatMap((panel) => panel.cells.flat()));
  const ticks = logTicks(doc.edges_ns[0] ?? 1, doc.edges_ns.at(-1) ?? 10, 8)
    .map((value) => ({ value: among(doc.edges_ns, value) + 1, label: latency(value) }));
  return doc.panels.map((panel) => ({
    title: titled(panel.direction),
    columns: CLASS_NAMES,
    rows: doc.edges_ns.length + 1,
    rowTicks: ticks,
    cells: cellsOf(panel, doc, most, ramp),
    steps: { label: 'p99', at: panel.p99_ns.map((value) => (value === null ? null : among(doc.edges_ns, value) + 1)) },
    level: { label: `limit ${latency(doc.limit_ns)}`, at: among(doc.edges_ns, doc.limit_ns) + 1 },
  }));
}

function cellsOf(panel: MatrixPanel, doc: LatencyMatrix, most: number, ramp: Uint8Array): MatrixCell[] {
  return panel.cells.flatMap((rows, x) => rows.flatMap((count, y): MatrixCell[] => {
    if (count === 0) return [];
    return [{
      x, y, colour: colourOf(ramp, Math.log(count + 1) / Math.log(most + 1)),
      words: `${titled(panel.direction)} of ${CLASS_RANGES[x]}, ${rowWords(doc.edges_ns, y)}: ${counted(count, 'I/O')}; ` +
        `p99 of the size ${latency(panel.p99_ns[x])}${(panel.count[x] ?? 0) < 30 ? ', too few I/Os to say much' : ''}`,
    }];
  }));
}

export function whereTable(doc: LatencyMatrix | null): Table {
  return {
    columns: [
      { label: 'Direction', unit: 'text' }, { label: 'Size', unit: 'text' }, { label: 'Service time', unit: 'text' },
      { label: 'I/Os', unit: 'count' }, { label: 'p99 of the size', unit: 'ns' },
    ],
    rows: (doc?.panels ?? []).flatMap((panel) => panel.cells.flatMap((rows, x) => rows.flatMap((count, y) =>
      (count === 0 ? [] : [[panel.direction, CLASS_RANGES[x], rowWords(doc?.edges_ns ?? [], y), count, panel.p99_ns[x]]])))),
  };
}

/** Where it breaks: 99th percentiles by class of sizes and load. */
export function breaksPlan(doc: LoadMatrix, ramp: Uint8Array): MatrixPlan[] {
  const values = doc.cells.map((cell) => cell.p99_ns).filter((value) => value > 0);
  const low = Math.log(Math.min(...values, doc.limit_ns));
  const high = Math.log(Math.max(...values, doc.limit_ns));
  return ['read', 'write'].map((direction) => ({
    title: titled(direction),
    columns: doc.columns,
    rows: 8,
    rowTicks: CLASS_NAMES.map((label, position) => ({ value: position + 0.5, label })),
    cells: doc.cells.filter((cell) => cell.direction === direction).map((cell) => ({
      x: cell.column, y: cell.class, text: latency(cell.p99_ns),
      colour: colourOf(ramp, 0.12 + (0.88 * (Math.log(cell.p99_ns) - low)) / Math.max(0.1, high - low)),
      isFew: !cell.is_enough,
      isBroken: cell.is_enough && cell.p99_ns > doc.limit_ns,
      words: `${titled(direction)} of ${CLASS_RANGES[cell.class]} at ${doc.columns[cell.column]} ${doc.load}: p99 ${latency(cell.p99_ns)} of ` +
        `${counted(cell.count, 'I/O')}${cell.is_enough ? (cell.p99_ns > doc.limit_ns ? ', over the limit' : '') : ', too few to say much'}`,
    })),
  }));
}

export function breaksTable(doc: LoadMatrix | null): Table {
  return {
    columns: [
      { label: 'Direction', unit: 'text' }, { label: 'Size', unit: 'text' }, { label: doc?.load ?? 'load', unit: 'text' },
      { label: 'I/Os', unit: 'count' }, { label: 'p99', unit: 'ns' },
    ],
    rows: (doc?.cells ?? []).map((cell) => [cell.direction, CLASS_RANGES[cell.class], doc?.columns[cell.column], cell.count, cell.p99_ns]),
  };
}

/** Colours of few to many, as a gradient for a legend. */
export const gradient = (ramp: Uint8Array): string =>
  `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((part) => colourOf(ramp, part)).join(',')})`;

