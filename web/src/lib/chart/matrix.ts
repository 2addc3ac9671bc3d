// Matrices of cells, whatever their axes are.

import type { Tick } from './axis';

export interface MatrixCell {
  x: number;
  y: number;
  /** Colour of the cell. */
  colour: string;
  /** Printed in the cell, where there is room. */
  text?: string;
  /** Hatched: too few I/Os to say much. */
  isFew?: boolean;
  /** Framed: the limit is broken. */
  isBroken?: boolean;
  /** Read aloud. */
  words: string;
}

export interface MatrixPlan {
  title: string;
  columns: readonly string[];
  rows: number;
  /** Where labels of rows are, in rows from below. */
  rowTicks: readonly Tick[];
  cells: readonly MatrixCell[];
  /** A stepped line: a position in rows from below for each column. */
  steps?: { label: string; at: readonly (number | null)[] } | undefined;
  /** A level line in rows from below. */
  level?: { label: string; at: number } | undefined;
}

/** Position of a value among ascending edges, between rows too; logarithmic within a row. */
export function among(edges: readonly number[], value: number): number {
  const next = edges.findIndex((edge) => edge >= value);
  if (next < 0) return edges.length - 1;
  if (next === 0) return 0;
  const [low, high] = [edges[next - 1] ?? 1, edges[next] ?? 1];
  return next - 1 + Math.log(value / low) / Math.log(high / low);
}
