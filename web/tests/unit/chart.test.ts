import { describe, expect, it } from 'vitest';
import { ended, isTight, logTicks, timeTicks } from '../../src/lib/chart/axis';
import { extremes, indexAt, lowerBound } from '../../src/lib/chart/decimate';
import { countAt, fullest, paint } from '../../src/lib/chart/heat';
import { chartAction } from '../../src/lib/chart/keys';
import { lineOf, split, spread, styleOf } from '../../src/lib/chart/lines';
import { among } from '../../src/lib/chart/matrix';
import { valueAt } from '../../src/lib/chart/percentile';
import { fewSpans } from '../../src/lib/chart/plot';
import { stacked } from '../../src/lib/chart/stack';
import { csv } from '../../src/lib/chart/table';
import { LIGHT, ramp } from '../../src/lib/palette';
import { Chords } from '../../src/lib/ui/chords';

describe('fewer points', () => {
  const at = Float64Array.from({ length: 100_000 }, (_, i) => i);
  const values = Float64Array.from({ length: 100_000 }, (_, i) => Math.sin(i / 500) + (i === 43_210 ? 9 : 0));
  it('keep the highest and lowest, in order, and no more than four a pixel', () => {
    const { at: kept, lists } = extremes(at, [values], 0, 100_000, 1000);
    expect(kept.length).toBeLessThanOrEqual(2100);
    expect(Math.max(...(lists[0] as number[]))).toBe(values[43_210]);
    expect([...kept].sort((a, b) => a - b)).toEqual(kept);
  });
  it('are all of them where they fit', () => {
    const { at: kept } = extremes(at, [values], 500, 600, 1000);
    expect(kept[0]).toBe(499);
    expect(kept.at(-1)).toBe(600);
  });
  it('keep gaps', () => {
    const { lists } = extremes([0, 1, 2, 3, 4, 5, 6, 7, 8], [[1, 1, 1, null, null, null, 2, 2, 2]], 0, 9, 3);
    expect(lists[0]).toContain(null);
  });
  it('finds the point that holds a time', () => {
    expect(indexAt([0, 10, 20], 10)).toBe(1);
    expect(indexAt([0, 10, 20], 9.9)).toBe(0);
    expect(indexAt([0, 10, 20], 99)).toBe(2);
    expect(lowerBound([0, 10, 20], 11)).toBe(2);
  });
});

describe('the heat map', () => {
  const data = { at: [0, 10], widths: [10, 10], edges: [1, 10, 100, 1000], columns: [[0, 1, 2, 100], []], most: 100 };
  it('paints long times above, empty cells not at all', () => {
    const image = new Uint8Array(4 * 4 * 3);
    paint(image, 4, data, [0, 20], ramp(LIGHT));
    const opacity = (x: number, row: number): number => image[(row * 4 + x) * 4 + 3] ?? 0;
    expect([opacity(0, 0), opacity(0, 1), opacity(0, 2), opacity(3, 0)]).toEqual([255, 0, 255, 0]);
  });
  it('finds cells again', () => {
    expect(countAt(data, 0, 2)).toBe(100);
    expect(countAt(data, 0, 1)).toBe(0);
    expect(fullest(data, 0)).toBe(2);
  });
});

describe('lines', () => {
  const group = { key: 'w', label: 'writes', count: [100, 3, 100], mean: [], min: [], max: [], p50: [1, 2, 3], p95: [], p99: [1, 2, 3], wait_share: [] };
  it('of few I/Os are faint and joined to their neighbours', () => {
    const { many, few } = split(lineOf(group, 'p99', 0, LIGHT));
    expect(many).toEqual([1, null, 3]);
    expect(few).toEqual([1, 2, 3]);
  });
  it('mark times of few I/Os', () => {
    expect(fewSpans([0, 10, 20], [10, 10, 10], [lineOf(group, 'p99', 0, LIGHT)])).toEqual([[10, 20]]);
  });
  it('have one meaning a colour', () => {
    expect(styleOf('r', 0, LIGHT)).toEqual({ colour: LIGHT.kinds.read, dash: [] });
    expect(styleOf('w64k', 3, LIGHT).colour).toBe(LIGHT.classes[5]);
    expect(styleOf('w64k', 3, LIGHT).dash).not.toEqual([]);
    expect(styleOf('64k', 3, LIGHT).dash).toEqual([]);
  });
  it('have names that do not cover each other', () => {
    const ys = spread([10, 11, 12, 100], 14, 0, 110);
    for (let i = 1; i < 4; i += 1) expect((ys[i] ?? 0) - (ys[i - 1] ?? 0)).toBeGreaterThanOrEqual(14 - 1e-9);
    expect(Math.max(...ys)).toBeLessThanOrEqual(110);
  });
});

describe('axes', () => {
  it('of time have round steps', () => {
    expect(timeTicks(0, 600e9, 10).map((tick) => tick.label)).toEqual(['00:00', '01:00', '02:00', '03:00', '04:00', '05:00', '06:00', '07:00', '08:00', '09:00', '10:00']);
  });
  it('of logarithms stay within and are few', () => {
    expect(logTicks(2e4, 1e10, 6)).toEqual([1e5, 1e6, 1e7, 1e8, 1e9, 1e10]);
    expect(logTicks(1e6, 1e7, 6)).toEqual([1e6, 2e6, 5e6, 1e7]);
  });
});

it('shares of a whole add up to it', () => {
  const edges = stacked([{ key: 'a', label: 'a', colour: '', isHatched: false, values: [1, 0] }, { key: 'b', label: 'b', colour: '', isHatched: false, values: [3, 0] }], 2, true);
  expect(edges.map((edge) => edge[0])).toEqual([0, 0.25, 1]);
  expect(edges.map((edge) => edge[1])).toEqual([0, 0, 0]);
});

it('percentiles between points follow the curve, and end where I/Os are few', () => {
  const points = [{ share: 0, value_ns: 1e5 }, { share: 0.9, value_ns: 1e6 }, { share: 0.99, value_ns: 1e7 }, { share: 1, value_ns: 9e7 }];
  expect(valueAt(points, 0.9)).toBeCloseTo(1e6);
  expect(valueAt(points, 0.95)).toBeGreaterThan(1e6);
  expect(valueAt(points, 0.999)).toBeNull();
});

it('values stand between their edges', () => {
  expect(among([10, 100, 1000], 10)).toBe(0);
  expect(among([10, 100, 1000], 100)).toBeCloseTo(1);
  expect(among([10, 100, 1000], 5000)).toBe(2);
});

it('files of numbers are raw, with their unit, and quoted', () => {
  const table = { columns: [{ label: 'Time', unit: 'time' as const }, { label: 'a, "b"', unit: 'bytes_per_s' as const }], rows: [[1e9, null], [2e9, 1.5]] };
  expect(csv(table)).toBe('Time [ns],"a, ""b"" [bytes_per_s]"\r\n1000000000,\r\n2000000000,1.5');
});

describe('keys', () => {
  it.each([['ArrowLeft', true, { do: 'move', by: -10 }], ['b', false, { do: 'brush' }], ['x', false, null]])('%s', (key, shift, action) => {
    expect(chartAction(key, shift)).toEqual(action);
  });
  it('after g go places, and mean themselves again later', () => {
    const chords = new Chords();
    expect(chords.read('g', 1000)).toBeNull();
    expect(chords.read('l', 1200)).toEqual({ do: 'go', to: 'latency' });
    chords.read('g', 2000);
    expect(chords.read('w', 9000)).toEqual({ do: 'direction', direction: 'w' });
  });
  it('a key in the first second of the page stands alone', () => {
    expect(new Chords().read('w', 200)).toEqual({ do: 'direction', direction: 'w' });
  });
});

describe('names at the ends of lines', () => {
  const labels = ['controller write memory busy', 'queue'];
  it('are cut where there is no room, and then all stand below the chart', () => {
    expect(isTight(350, labels)).toBe(true);
    expect(ended(labels[0] ?? '', 350, labels)).toMatch(/^controller.*…$/);
    expect(ended('queue', 350, labels)).toBe('queue');
  });
  it('are whole on a wide screen', () => {
    expect(isTight(1200, labels)).toBe(false);
    expect(ended(labels[0] ?? '', 1200, labels)).toBe(labels[0]);
  });
});
