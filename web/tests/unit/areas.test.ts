import { describe, expect, it } from 'vitest';
import { areaPath, extent, linePath, piles } from '../../src/lib/chart/areas';

const x = (ns: number): number => ns;
const y = (value: number): number => value;

describe('areas over time', () => {
  it('lie on top of each other, and mirrored ones below zero', () => {
    expect(piles([[1, 2], [3, null]])).toEqual([{ lower: [0, 0], upper: [1, 2] }, { lower: [1, 2], upper: [4, 2] }]);
    expect(piles([[1, 2], [3, 4]], -1)).toEqual([{ lower: [-1, -2], upper: [0, 0] }, { lower: [-4, -6], upper: [-1, -2] }]);
    expect(piles([])).toEqual([]);
  });
  it('have lines with gaps', () => {
    expect(linePath([0, 10, 20, 30], [10, 10, 10, 10], [1, 2, null, 4], x, y)).toBe('M5.0 1.0L15.0 2.0M35.0 4.0');
    expect(linePath([], [], [], x, y)).toBe('');
  });
  it('have outlines that end where there is nothing', () => {
    const path = areaPath([0, 10, 20, 30], [10, 10, 10, 10], [0, 0, null, 0], [1, 2, 3, 4], x, y);
    expect(path.match(/M/g)).toHaveLength(2);
    expect(path).toBe('M0.0 1.0L5.0 1.0L15.0 2.0L20.0 2.0L20.0 0.0L15.0 0.0L5.0 0.0L0.0 0.0ZM30.0 4.0L35.0 4.0L40.0 4.0L40.0 0.0L35.0 0.0L30.0 0.0Z');
  });
  it('reach as far as what is in the window', () => {
    expect(extent([[1, 9, 3]], [0, 10, 20], [10, 10, 10], [12, 30])).toEqual([3, 9]);
    expect(extent([[1, 9, 3]], [0, 10, 20], [10, 10, 10], [20, 30])).toEqual([3, 3]);
    expect(extent([[null]], [0], [1], [0, 1])).toBeNull();
  });
});
