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

export interface Dot {
  x: number;
  y: number;
  r: number;
}

/** A name beside its dot: where it begins, and its baseline. */
export interface Label {
  x: number;
  y: number;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const apart = (a: Box, b: Box): boolean =>
  a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;

/**
 * Where names stand so that none covers another name or a dot: right of its dot, left of it, above
 * or below; nowhere if all four are taken. First come, first served. Pixels.
 */
export function labels(
  wanted: readonly { dot: Dot; width: number }[],
  dots: readonly Dot[],
  size: number,
  room: { x0: number; x1: number; y0: number; y1: number },
): (Label | null)[] {
  const taken: Box[] = dots.map(({ x, y, r }) => ({ left: x - r, right: x + r, top: y - r, bottom: y + r }));
  return wanted.map(({ dot, width }) => {
    const { x, y, r } = dot;
    const places: Label[] = [
      { x: x + r + 3, y: y + size * 0.35 }, { x: x - r - 3 - width, y: y + size * 0.35 },
      { x: x - width / 2, y: y - r - 4 }, { x: x - width / 2, y: y + r + size },
    ];
    for (const place of places) {
      const box = { left: place.x, right: place.x + width, top: place.y - size * 0.8, bottom: place.y + size * 0.25 };
      const isInside = box.left >= room.x0 && box.right <= room.x1 && box.top >= room.y1 && box.bottom <= room.y0;
      if (!isInside || !taken.every((other) => apart(box, other))) continue;
      taken.push(box);
      return place;
    }
    return null;
  });
}

/** Above this many dots only those that stand out are named. */
const ALL_NAMED = 40;
/** How many of those at an edge are named on each axis. */
const OUTSTANDING = 4;

/** Dots in the order in which they get a name: those marked first, then those that stand out, then the others. */
export function namingOrder<D extends Dot>(dots: readonly D[], isMarked: (dot: D) => boolean): D[] {
  const marked = dots.filter(isMarked);
  const up = [...dots].sort((a, b) => a.y - b.y);
  const right = [...dots].sort((a, b) => b.x - a.x);
  const out = Array.from({ length: OUTSTANDING }, (_, position) => [up[position], right[position], up.at(-1 - position), right.at(-1 - position)])
    .flat().filter((dot): dot is D => dot !== undefined);
  return [...new Set([...marked, ...out, ...(dots.length <= ALL_NAMED ? up : [])])];
}
