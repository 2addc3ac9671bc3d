// Dots by two measures.

import type { MapItem, TrailPoint } from '../api/types';
import { ITEM_MEASURES, type ItemMeasure, type Measured } from './items';

export interface Axis {
  low: number;
  high: number;
  isLog: boolean;
}

/** An axis that holds the measure of all items, with room at its ends. */
export function axisOf(items: readonly MapItem[], measure: ItemMeasure): Axis {
  const { of, isLog, unit, trail } = ITEM_MEASURES[measure];
  const values = items.flatMap((item) => [of(item), ...(trail ? item.trail.map(trail) : [])])
    .filter((value): value is number => value !== null && (!isLog || value > 0));
  if (values.length === 0) return { low: isLog ? 1 : 0, high: isLog ? 10 : 1, isLog };
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (isLog) return { low: least / 1.5, high: Math.max(most, least * 3) * 1.5, isLog };
  return { low: 0, high: unit === 'share' ? Math.max(1, most * 1.08) : most * 1.08 || 1, isLog };
}

/** A value's part of the way along an axis, 0 to 1; null where it cannot be. */
export function along(value: number | null, axis: Axis): number | null {
  if (value === null || (axis.isLog && value <= 0)) return null;
  const part = axis.isLog
    ? Math.log(value / axis.low) / Math.log(axis.high / axis.low)
    : (value - axis.low) / (axis.high - axis.low);
  return Math.max(0, Math.min(1, part));
}

/** Where the quadrants part: at the limit, else halfway along the axis. */
export function divide(measure: ItemMeasure, axis: Axis): number {
  return measure === 'limit' ? (along(1, axis) ?? 0.5) : 0.5;
}

/** The course of an item by two measures, parts of the way along the axes. */
export function course(item: MapItem, x: Measured, y: Measured, axes: readonly [Axis, Axis]): [number, number][] {
  const { trail: tx } = x;
  const { trail: ty } = y;
  if (!tx || !ty) return [];
  return item.trail.flatMap((point: TrailPoint): [number, number][] => {
    const [px, py] = [along(tx(point), axes[0]), along(ty(point), axes[1])];
    return px === null || py === null ? [] : [[px, py]];
  });
}

/** The radius of a dot: its area is true to the bytes. */
export function radius(bytes: number, most: number, largest: number): number {
  return most > 0 ? Math.max(3, Math.sqrt(bytes / most) * largest) : 3;
}

/** Shapes that tell workloads apart without colour. */
export const SHAPES = ['circle', 'square', 'up', 'diamond', 'down', 'plus'] as const;
export type Shape = (typeof SHAPES)[number];

/** The outline of a shape about the same area as a circle of radius `r`. */
export function shapePath(shape: Shape, r: number): string {
  const s = r * 0.89;
  const t = r * 1.25;
  switch (shape) {
    case 'circle':
      return `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
    case 'square':
      return `M${-s} ${-s}H${s}V${s}H${-s}Z`;
    case 'up':
      return `M0 ${-t}L${t} ${t * 0.75}H${-t}Z`;
    case 'down':
      return `M0 ${t}L${t} ${-t * 0.75}H${-t}Z`;
    case 'diamond':
      return `M0 ${-t}L${t} 0L0 ${t}L${-t} 0Z`;
    case 'plus':
      return `M${-t} ${-s / 2}H${-s / 2}V${-t}H${s / 2}V${-s / 2}H${t}V${s / 2}H${s / 2}V${t}H${-s / 2}V${s / 2}H${-t}Z`;
  }
}

/** Which labels fit without covering one another; first come, first served. Pixels. */
export function freeLabels(wanted: readonly { x: number; y: number; width: number }[]): boolean[] {
  const taken: { x: number; y: number; width: number }[] = [];
  return wanted.map((one) => {
    const isFree = taken.every((other) =>
      Math.abs(other.y - one.y) > 13 || one.x > other.x + other.width || other.x > one.x + one.width);
    if (isFree) taken.push(one);
    return isFree;
  });
}
