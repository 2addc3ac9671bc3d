import { describe, expect, it } from 'vitest';
import type { CompareMetric } from '../../src/lib/api/types';
import { changeTicks, filledRows, intervalText, metricWords, reach, reasonLines, sortMetrics, stretch, valueText } from '../../src/lib/chart/forest';

const metric = (name: string, verdict: string, change: number | null, low: number | null = null, high: number | null = null): CompareMetric => ({
  name, unit: 'ns', better: 'lower', a: 1e6, b: 2e6, change, low, high, samples: [5, 5], verdict, reason: null,
});

describe('two runs, figure by figure', () => {
  it.each([[2.5, 'tiles', '2.5 tiles'], [1, 'tiles', '1 tile'], [1.984, "tiles' worth", '1.98 tiles’ worth'], [null, 'ns', '–'], [2e6, 'ns', '2 ms']])('write %s %s as %s', (value, unit, text) => {
    expect(valueText(value, unit)).toBe(text);
  });
  it('show what matters first, large changes before small ones', () => {
    const names = sortMetrics([metric('d', 'same', 0.01), metric('c', 'inconclusive', 3), metric('b2', 'better', -0.1), metric('a', 'worse', 0.2), metric('b1', 'better', -0.5)]);
    expect(names.map(({ name }) => name)).toEqual(['a', 'b1', 'b2', 'c', 'd']);
  });
  it('count halving as far as doubling', () => expect(stretch(1)).toBeCloseTo(-stretch(-0.5)));
  it('say when there is no interval', () => {
    expect(intervalText(metric('a', 'same', 0))).toBe('no interval');
    expect(intervalText(metric('a', 'same', 0, -0.1, 0.2))).toBe('−10 % to +20 %');
    expect(intervalText(metric('a', 'better', -0.9, -0.93, 120.6))).toBe('1/14 to 122x');
  });
  it('are not pressed together by one wide interval', () => {
    const far = reach([metric('a', 'worse', 0.1, 0.05, 0.15), metric('b', 'inconclusive', 0.1, -0.9, 50)]);
    expect(far).toBeLessThan(0.3);
    expect(far).toBeGreaterThan(stretch(0.15));
  });
  it('have ticks that keep apart, with zero among them', () => {
    const ticks = changeTicks(stretch(9.5), 400, 60);
    expect(ticks).toContain(0);
    expect(ticks.length).toBeGreaterThan(3);
    const at = ticks.map((tick) => (stretch(tick) / stretch(9.5)) * 200);
    for (let i = 1; i < at.length; i += 1) expect((at[i] ?? 0) - (at[i - 1] ?? 0)).toBeGreaterThanOrEqual(60);
  });
  it('are words with both numbers, the interval, the verdict and the repeats', () => {
    expect(metricWords(metric('read p99', 'worse', 1, 0.5, 1.5))).toBe('read p99: 1 ms in A, 2 ms in B, +100 % (+50 % to +150 %), lower is better: worse; repeats: 5 and 5');
  });
  it('say each reason once, with the figures that have it', () => {
    const disturbed = { text: 'every step of group B was disturbed by other work', figures: 9 };
    expect(reasonLines([disturbed, { text: 'both are lower bounds', figures: 1 }], 13)).toEqual([
      '9 of 13 figures: every step of group B was disturbed by other work.', '1 of 13 figures: both are lower bounds.',
    ]);
    expect(reasonLines([disturbed], 9)).toEqual(['9 of 9 figures: every step of group B was disturbed by other work.']);
    expect(reasonLines([], 9)).toEqual([]);
  });
  it('know the rows in which anything moved', () => {
    expect(filledRows([[0, 0, 0.1, 0], [0, -0.1, 0, 0]])).toEqual([1, 2]);
    expect(filledRows([[0, 0]])).toBeNull();
  });
});
