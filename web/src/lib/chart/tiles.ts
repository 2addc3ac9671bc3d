// Figures by number of tiles, as lines: of a study's table, and of runs side by side.

export interface TilesLine {
  name: string;
  values: (number | null)[];
  /** The values as they are read, `-` where there is none. */
  texts: string[];
  /** A verdict for each value, drawn as its shape; without verdicts every value is a dot. */
  marks?: string[];
}
export interface TilesPlot {
  /** Tiles of each position. */
  at: number[];
  lines: TilesLine[];
  low: number;
  high: number;
  /** Unit of the axis; times are drawn on a logarithmic one. */
  unit: string;
}

/** The plot of lines, with the range of their values. */
export function plotOf(at: number[], lines: TilesLine[], unit: string): TilesPlot {
  const known = lines.flatMap(({ values }) => values.flatMap((value) => value ?? []));
  return { at, lines, low: Math.min(...known), high: Math.max(...known), unit };
}

/** The outline of a verdict's mark: a triangle that points down or up, or a circle. */
export function markPath(verdict: string, x: number, y: number): string {
  if (verdict === 'worse') return `M${x - 4.5} ${y - 4}h9l-4.5 8z`;
  if (verdict === 'better') return `M${x - 4.5} ${y + 4}h9l-4.5 -8z`;
  return `M${x - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`;
}
