// Runs side by side: their figures as lines, and as a table.

import type { RunsTrend, TrendFigure } from '../api/types';
import { inUnit } from '../format';
import { plotOf, type TilesPlot } from './tiles';
import type { Table } from './table';

/** A point in words: `12 ms, worse: +60.0 % (+41.2 % to +80.1 %)`. */
function pointText(value: number, unit: string, verdict: string | null | undefined, change: string | null | undefined): string {
  const said = verdict ? `, ${verdict}${change ? `: ${change}` : ''}` : '';
  return `${inUnit(value, unit)}${said}`;
}

/** A line for each run, also for one without the figure, so that every run keeps its colour. */
export function trendPlot(figure: TrendFigure): TilesPlot {
  const at = [...new Set(figure.lines.flatMap((line) => line.map(({ tiles }) => tiles)))].sort((a, b) => a - b);
  const lines = figure.lines.map((line, position) => {
    const points = at.map((tiles) => line.find((point) => point.tiles === tiles) ?? null);
    return {
      name: `run ${position + 1}`,
      values: points.map((point) => point?.value ?? null),
      texts: points.map((point) => (point ? pointText(point.value, figure.unit, point.against_first, point.change) : '-')),
      marks: points.map((point) => point?.against_first ?? (position === 0 ? 'same' : 'inconclusive')),
    };
  });
  return plotOf(at, lines, figure.unit);
}

/** A row for each run and number of tiles. */
export function trendTable(figure: TrendFigure, doc: RunsTrend): Table {
  return {
    columns: [
      { label: 'Run', unit: 'text' }, { label: 'Tiles', unit: 'count' }, { label: figure.title, unit: figure.unit === 'ns' ? 'ns' : 'io_per_s' },
      { label: 'Against the first', unit: 'text' }, { label: 'Change', unit: 'text' },
    ],
    rows: figure.lines.flatMap((line, position) => line.map((point) =>
      [`${position + 1}: ${doc.runs[position]?.id ?? ''}`, point.tiles, point.value, point.against_first ?? null, point.change ?? null])),
  };
}
