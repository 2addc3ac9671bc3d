import { describe, expect, it } from 'vitest';
import type { Group } from '../../src/lib/api/types';
import { chosen, toggled, usual, waitParts } from '../../src/lib/chart/chosen';
import { apart, lineOf } from '../../src/lib/chart/lines';
import { LIGHT } from '../../src/lib/palette';

/** So many I/Os of so many milliseconds on the mean at two points; p99 is three times the mean. */
const group = (key: string, count: number, mean: number, p99 = 3 * mean): Group => ({
  key, label: key, count: [count, count], mean: [mean * 1e6, mean * 1e6], min: [], max: [], p50: [], p95: [], p99: [p99 * 1e6, p99 * 1e6], wait_share: [],
});
const sizes = [group('4k', 1000, 1), group('8k', 100, 1), group('16k', 50, 1), group('32k', 40, 1), group('64k', 400, 2), group('128k', 60, 2), group('256k', 3, 4)];

describe('lines of many sizes', () => {
  it('weigh what they wait: mean times I/Os', () => {
    expect(waitParts([group('a', 3, 1), group('b', 1, 1)])).toEqual([0.75, 0.25]);
    expect(waitParts([group('a', 0, 0)])).toEqual([0]);
    expect(waitParts([])).toEqual([]);
  });
  it('are drawn where they make up the latency, with the slowest that has enough I/Os', () => {
    expect([...usual(sizes)]).toEqual(['4k', '64k', '128k']);
    expect(usual([...sizes, group('rare', 40, 0.1, 99)])).toContain('rare');
    expect(usual([...sizes, group('rare', 29, 0.1, 99)])).not.toContain('rare');
  });
  it('are few even where all wait alike', () => {
    expect(usual(Array.from({ length: 10 }, (_, tile) => group(`${tile}`, 100, 1))).size).toBeLessThanOrEqual(4);
  });
  it('are all drawn where they are few, or asked for; the address names others', () => {
    expect(chosen(sizes.slice(0, 3), null).size).toBe(3);
    expect(chosen(sizes, 'all').size).toBe(7);
    expect([...chosen(sizes, '8k,zoo')]).toEqual(['8k']);
    expect(chosen(sizes, 'zoo')).toEqual(usual(sizes));
  });
  it('come and go one by one, and the last stays', () => {
    expect(toggled(sizes, null, '8k')).toBe('4k,8k,64k,128k');
    expect(toggled(sizes, '4k,8k,64k,128k', '8k')).toBeNull();
    expect(toggled(sizes, '8k', '8k')).toBe('8k');
    expect(toggled(sizes, '4k,8k,16k,32k,64k,128k', '256k')).toBe('all');
  });
  it('differ clearly in width where few are drawn', () => {
    const lines = sizes.map((one, at) => lineOf(one, 'p99', at, LIGHT));
    const widths = apart(lines, new Set(['4k', '8k', '64k'])).filter((line) => ['4k', '8k', '64k'].includes(line.key)).map((line) => line.width);
    expect(widths.map((width) => Math.round(width * 10))).toEqual([13, 24, 35]);
    expect(apart(lines, new Set(sizes.map((one) => one.key)))).toEqual(lines);
  });
  it('that nobody waited for are not drawn for it', () => {
    const idle = Array.from({ length: 5 }, (_, at) => group(`${at}`, 0, 0));
    expect(usual(idle).size).toBe(0);
  });
});
