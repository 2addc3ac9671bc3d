import { describe, expect, it } from 'vitest';
import type { MapItem } from '../../src/lib/api/types';
import { amountOf, isOver, itemWords, levelOf, matches, nearness, p99Range, pin, sortItems } from '../../src/lib/chart/items';
import { along, axisOf, course, divide, labels, namingOrder, radius, shapePath, SHAPES } from '../../src/lib/chart/scatter';
import { ITEM_MEASURES } from '../../src/lib/chart/items';
import { merged } from '../../src/lib/chart/trail';
import { fitted, groupOf, groupsText, layout, shortName } from '../../src/lib/chart/treemap';

const item = (name: string, patch: Partial<MapItem> = {}): MapItem => ({
  name, tile: 1, workload: name.split('/')[1] ?? name, host: null, count: 100, operations_per_s: 10, bytes_per_s: 1000, bytes: 5000,
  read_share: 0.5, p50_ns: 1e6, p99_ns: 4e6, limit: null, trail: [], ...patch,
});
const held = (ratio: number | null): MapItem['limit'] => ({
  name: 'order p95', measured_ns: ratio === null ? null : ratio * 1e8, limit_ns: 1e8, ratio, samples: 40, verdict: ratio !== null && ratio > 1 ? 'failed' : 'passed',
});

describe('workloads of a map', () => {
  const items = [item('tile-1/shop', { operations_per_s: 5 }), item('tile-1/web', { operations_per_s: 50, p99_ns: null }), item('tile-2/shop', { tile: 2, operations_per_s: 7, p99_ns: 9e6 })];
  it('are sorted by any measure, what has none last', () => {
    expect(sortItems(items, 'iops').map(({ name }) => name)).toEqual(['tile-1/web', 'tile-2/shop', 'tile-1/shop']);
    expect(sortItems(items, 'p99').map(({ name }) => name)).toEqual(['tile-2/shop', 'tile-1/shop', 'tile-1/web']);
    expect(items[0]?.name).toBe('tile-1/shop');
  });
  it.each([['shop', true], ['SHOP tile-2', true], ['tile 2', true], ['web', false], ['', true]])('are found by %j: %s', (text, found) => {
    expect(matches(items[2] as MapItem, text)).toBe(found);
  });
  it('are pinned, four at most, the oldest goes', () => {
    expect(pin(['a'], 'a')).toEqual([]);
    expect(pin(['a', 'b', 'c', 'd'], 'e')).toEqual(['b', 'c', 'd', 'e']);
  });
  it.each([[0, 0], [0.24, 0], [0.25, 1], [0.99, 3], [1, 3], [1.001, 4], [9, 4]])('at %d of their limit have step %d', (ratio, step) => {
    expect(nearness(ratio)).toBe(step);
  });
  it('have a level by limit or by p99, or none', () => {
    expect(levelOf(item('a', { limit: held(0.6) }), 'limit', [1, 1])).toBe(0.5);
    expect(levelOf(item('a', { limit: held(null) }), 'limit', [1, 1])).toBeNull();
    expect(levelOf(item('a'), 'limit', [1, 1])).toBeNull();
    expect(levelOf(item('a', { p99_ns: 1e7 }), 'p99', [1e6, 1e8])).toBeCloseTo(0.5);
    expect(levelOf(item('a'), 'p99', [4e6, 4e6])).toBe(0.5);
    expect(p99Range([item('a', { p99_ns: null })])).toEqual([1, 1]);
  });
  it('say in words where they are, with units', () => {
    expect(itemWords(item('tile-1/shop', { limit: held(1.2) }))).toBe('tile-1/shop: 10 IOPS, 1,000 B/s, p99 4 ms; order p95 120 ms of 100 ms allowed (120 %), failed');
    expect(isOver(item('a', { limit: held(1.2) }))).toBe(true);
    expect(isOver(item('a'))).toBe(false);
  });
});

describe('the map', () => {
  const amount = (one: MapItem): number => one.operations_per_s;
  it('has areas true to amounts, in groups that do not overlap', () => {
    const items = [item('tile-1/a', { operations_per_s: 60 }), item('tile-1/b', { operations_per_s: 20 }), item('tile-2/a', { tile: 2, operations_per_s: 20 }), item('tile-2/b', { tile: 2, operations_per_s: 0 })];
    const map = layout(items, amount, 1000, 600);
    expect(map.cells).toHaveLength(3);
    expect(map.left).toBe(1);
    expect(map.groups.map(({ name }) => name)).toEqual(['tile 1', 'tile 2']);
    const area = (name: string): number => { const cell = map.cells.find((one) => one.item.name === name); return cell ? cell.w * cell.h : 0; };
    expect(area('tile-1/a') / area('tile-1/b')).toBeCloseTo(3, 1);
    for (const cell of map.cells) {
      expect(cell.x).toBeGreaterThanOrEqual(0);
      expect(cell.x + cell.w).toBeLessThanOrEqual(1000);
      expect(cell.y + cell.h).toBeLessThanOrEqual(600);
    }
  });
  it('of nothing is nothing', () => expect(layout([], amount, 100, 100)).toEqual({ groups: [], cells: [], left: 0 }));
  it('groups by host, else tile, else not at all', () => {
    expect(groupOf(item('a', { host: 'host-1' }))).toBe('host-1');
    expect(groupOf(item('a'))).toBe('tile 1');
    expect(groupOf(item('vm', { tile: 0 }))).toBe('');
    expect(shortName(item('tile-1/shop'))).toBe('shop');
    expect(shortName(item('tile-1/shop', { host: 'h' }))).toBe('tile-1/shop');
    expect(groupsText([item('a'), item('b', { tile: 2 })])).toBe('2 tiles');
    expect(groupsText([item('vm', { tile: 0 })])).toBe('');
    // Infrastructure operations beside two tiles are no third one.
    expect(groupsText([item('a'), item('b', { tile: 2 }), item('deploy', { tile: 0 })])).toBe('2 tiles');
  });
  it('writes names only where they say something', () => {
    expect(fitted('standby', 100, 7)).toBe('standby');
    expect(fitted('standby', 40, 7)).toBe('stan…');
    expect(fitted('standby', 20, 7)).toBe('');
  });
});

describe('dots by two measures', () => {
  it('have axes that hold them all, and their courses', () => {
    const trail = [{ at_ns: 0, operations_per_s: 1, bytes_per_s: 1, p50_ns: null, p99_ns: 1e6 }];
    const axis = axisOf([item('a', { operations_per_s: 100, trail })], 'iops');
    expect(axis.low).toBeLessThan(1);
    expect(axis.high).toBeGreaterThan(100);
    expect(axisOf([], 'iops')).toEqual({ low: 1, high: 10, isLog: true });
    expect(axisOf([item('a', { read_share: 0.2 })], 'reads')).toEqual({ low: 0, high: 1, isLog: false });
  });
  it('lie along an axis, or nowhere', () => {
    expect(along(10, { low: 1, high: 100, isLog: true })).toBeCloseTo(0.5);
    expect(along(5, { low: 0, high: 10, isLog: false })).toBe(0.5);
    expect(along(0, { low: 1, high: 100, isLog: true })).toBeNull();
    expect(along(null, { low: 1, high: 100, isLog: true })).toBeNull();
  });
  it('part at the limit where limits are shown', () => {
    expect(divide('limit', { low: 0, high: 4, isLog: false })).toBe(0.25);
    expect(divide('iops', { low: 0, high: 4, isLog: false })).toBe(0.5);
  });
  it('have a course only by what is known over time', () => {
    const one = item('a', { trail: [{ at_ns: 0, operations_per_s: 10, bytes_per_s: 1, p50_ns: null, p99_ns: 1e6 }, { at_ns: 1, operations_per_s: 10, bytes_per_s: 1, p50_ns: 1, p99_ns: null }] });
    const axes = [axisOf([one], 'iops'), axisOf([one], 'p99')] as const;
    expect(course(one, ITEM_MEASURES.iops, ITEM_MEASURES.p99, axes)).toHaveLength(1);
    expect(course(one, ITEM_MEASURES.reads, ITEM_MEASURES.p99, axes)).toEqual([]);
  });
  it('are as large as their bytes', () => {
    expect(radius(100, 100, 16)).toBe(16);
    expect(radius(25, 100, 16)).toBe(8);
    expect(radius(0, 0, 16)).toBe(3);
  });
  it('have shapes that differ', () => expect(new Set(SHAPES.map((shape) => shapePath(shape, 5))).size).toBe(SHAPES.length));
  it('have names that cover neither a name nor a dot', () => {
    const room = { x0: 0, x1: 400, y0: 200, y1: 0 };
    const dots = [{ x: 100, y: 100, r: 5 }, { x: 130, y: 100, r: 5 }, { x: 395, y: 100, r: 5 }];
    const [one, two, edge] = labels(dots.map((dot) => ({ dot, width: 40 })), dots, 10, room);
    expect(one).toEqual({ x: 100 - 5 - 3 - 40, y: 103.5 });
    expect(two).toEqual({ x: 130 + 5 + 3, y: 103.5 });
    expect(edge?.x).toBeLessThan(395);
    const crowd = Array.from({ length: 100 }, (_, position) => ({ x: 100 + (position % 10) * 8, y: 100 + Math.floor(position / 10) * 8, r: 5 }));
    expect(labels([{ dot: crowd[55]!, width: 40 }], crowd, 10, room)).toEqual([null]);
  });
  it('are named if they are few or stand out', () => {
    const few = [{ x: 1, y: 1, r: 1 }, { x: 2, y: 2, r: 1 }];
    expect(namingOrder(few, () => false)).toHaveLength(2);
    const many = Array.from({ length: 200 }, (_, x) => ({ x, y: (x * 7) % 200, r: 1 }));
    const named = namingOrder(many, ({ x }) => x === 77);
    expect(named[0]?.x).toBe(77);
    expect(named.map(({ x }) => x)).toEqual(expect.arrayContaining([0, 199]));
    expect(named.length).toBeLessThanOrEqual(17);
  });
});

describe('courses side by side', () => {
  it('share one axis of time', () => {
    const point = (at_ns: number, operations_per_s: number) => ({ at_ns, operations_per_s, bytes_per_s: 0, p50_ns: null, p99_ns: null });
    const both = merged([item('a', { trail: [point(0, 1), point(10, 2)] }), item('b', { trail: [point(10, 3), point(20, 4)] })], (one) => one.operations_per_s, 25);
    expect(both).toEqual({ at: [0, 10, 20], widths: [10, 10, 5], lists: [[1, 2, null], [null, 3, 4]] });
  });
});

describe('what a map counts', () => {
  it('names each host once, whatever workloads went from one to another', () => {
    const hosts = ['h1', 'h2', 'h3', 'h4', 'h1, h2', 'h2, h3', 'h3, h4', 'h1, h4', 'h2, h4'];
    expect(groupsText(hosts.map((host, at) => item(`tile-${at}/db`, { host })))).toBe('4 hosts');
    expect(groupsText([item('a/db', { host: 'h1' }), item('b/db', { host: null, tile: 2 })])).toBe('1 host');
  });
  it('has no rates of what came without times', () => {
    expect([amountOf(null, true), amountOf('bytes', true), amountOf(null, false), amountOf('bytes', false)]).toEqual(['iops', 'bw', 'count', 'bytes']);
  });
});
