import { describe, expect, it } from 'vitest';
import type { RunsTrend, TrendFigure } from '../../src/lib/api/types';
import { markPath } from '../../src/lib/chart/tiles';
import { trendPlot, trendTable } from '../../src/lib/chart/trend';

const point = (tiles: number, value: number, against_first: string | null = null) => ({ tiles, value, against_first, change: against_first && '+50.0 %' });
const figure: TrendFigure = {
  title: 'read p99', unit: 'ns', limit_ns: null,
  lines: [[point(1, 1e6), point(4, 2e6)], [], [point(1, 1.5e6, 'worse'), point(2, 2e6)]],
};

describe('runs side by side', () => {
  it('have all numbers of tiles, and each run keeps its place', () => {
    const plot = trendPlot(figure);
    expect(plot.at).toEqual([1, 2, 4]);
    expect([plot.low, plot.high]).toEqual([1e6, 2e6]);
    expect(plot.lines.map(({ values }) => values)).toEqual([[1e6, null, 2e6], [null, null, null], [1.5e6, 2e6, null]]);
  });
  it('say each verdict in words and as a shape', () => {
    const [first, , third] = trendPlot(figure).lines;
    expect(first?.texts).toEqual(['1 ms', '-', '2 ms']);
    expect(third?.texts).toEqual(['1.5 ms, worse: +50.0 %', '2 ms', '-']);
    expect([first?.marks?.[0], third?.marks]).toEqual(['same', ['worse', 'inconclusive', 'inconclusive']]);
    expect(new Set(['worse', 'better', 'same'].map((verdict) => markPath(verdict, 0, 0))).size).toBe(3);
  });
  it('are a table of all points', () => {
    const doc = { runs: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] } as RunsTrend;
    expect(trendTable(figure, doc).rows).toEqual([
      ['1: a', 1, 1e6, null, null], ['1: a', 4, 2e6, null, null], ['3: c', 1, 1.5e6, 'worse', '+50.0 %'], ['3: c', 2, 2e6, null, null],
    ]);
  });
});
