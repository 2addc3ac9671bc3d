import { expect, test } from 'vitest';
import { apartFrom } from '../../src/lib/chart/axis';
import { isWaiting, usual } from '../../src/lib/chart/chosen';
import { isPlottable, plotted } from '../../src/lib/chart/study';
import { keyWords } from '../../src/lib/format';
import { startedText } from '../../src/lib/ui/runs';

test('labels of neighbouring counts do not run into each other', () => {
  const x = (value: number): number => value * 4;
  const kept = apartFrom([1, 2, 4, 8, 16, 28, 29, 30], x, 12);
  expect(kept).toContain(30);
  expect(kept).not.toContain(29);
  expect(kept.every((value, at) => at === 0 || x(value) - x(kept[at - 1] ?? 0) >= 11)).toBe(true);
});

test('at most four lines of rates are drawn, those with most I/O', () => {
  const group = (key: string, count: number) => ({ key, label: key, count: [count], mean: [count], min: [0], max: [0], p50: [], p95: [], p99: [], wait_share: [] });
  const groups = [100, 90, 80, 70, 60, 50, 1].map((count, at) => group(`${at}k`, count));
  expect(isWaiting(groups)).toBe(false);
  expect([...usual(groups)]).toEqual(['0k', '1k', '2k', '3k']);
});

test('a table by tiles is drawn, a table of words is not', () => {
  const section = { title: 'Score', paragraphs: [], columns: ['tiles', 'a', 'b'], rows: [['30', '1,200.5', '-'], ['32', '-2', '-']] };
  expect(isPlottable(section)).toBe(true);
  expect(plotted(section)).toEqual({ at: [30, 32], lines: [{ name: 'a', texts: ['1,200.5', '-2'], values: [1200.5, -2] }], low: -2, high: 1200.5, unit: 'count' });
  expect(isPlottable({ ...section, rows: [['30', 'hybrid', '-']] })).toBe(false);
});

test('keys of files become words', () => {
  expect(keyWords('measure.slice_ns')).toBe('measure: slice');
  expect(keyWords('measure.warm-up-max')).toBe('measure: warm up max');
  expect(keyWords('host.memory_bytes')).toBe('host: memory');
});

test('a time that nobody knows is not 1970', () => {
  expect(startedText('1970-01-01T00:00:00Z')).toBe('not known');
  expect(startedText('')).toBe('not known');
  expect(startedText('2026-11-22T06:00:00Z')).toBe('2026-11-22 06:00');
});
