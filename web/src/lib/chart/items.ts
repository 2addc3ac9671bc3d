// Workloads of tiles: what can be measured of them, and how they are ordered and picked.

import type { MapItem, TrailPoint } from '../api/types';
import { inUnit, type Unit } from '../format';

export type ItemMeasure = 'iops' | 'bw' | 'p50' | 'p99' | 'limit' | 'reads' | 'count' | 'bytes';

export interface Measured {
  name: string;
  unit: Unit;
  isLog: boolean;
  of: (item: MapItem) => number | null;
  /** The same along an item's course, where it is known. */
  trail: ((point: TrailPoint) => number | null) | null;
  /** What much of it means, and little. */
  much: string;
  little: string;
}

export const ITEM_MEASURES: Readonly<Record<ItemMeasure, Measured>> = {
  iops: { name: 'IOPS', unit: 'io_per_s', isLog: true, of: (item) => item.operations_per_s, trail: (point) => point.operations_per_s, much: 'busy', little: 'calm' },
  bw: { name: 'Throughput', unit: 'bytes_per_s', isLog: true, of: (item) => item.bytes_per_s, trail: (point) => point.bytes_per_s, much: 'moves much', little: 'moves little' },
  p50: { name: 'Median service time', unit: 'ns', isLog: true, of: (item) => item.p50_ns, trail: (point) => point.p50_ns, much: 'slow', little: 'fast' },
  p99: { name: 'p99 service time', unit: 'ns', isLog: true, of: (item) => item.p99_ns, trail: (point) => point.p99_ns, much: 'slow', little: 'fast' },
  limit: { name: 'Measured of its limit', unit: 'share', isLog: false, of: (item) => item.limit?.ratio ?? null, trail: null, much: 'over its limit', little: 'within its limit' },
  reads: { name: 'Share of reads', unit: 'share', isLog: false, of: (item) => item.read_share, trail: null, much: 'mostly reads', little: 'mostly writes' },
  count: { name: 'I/Os', unit: 'count', isLog: true, of: (item) => item.count, trail: null, much: 'many I/Os', little: 'few I/Os' },
  bytes: { name: 'Bytes', unit: 'bytes', isLog: true, of: (item) => item.bytes, trail: null, much: 'much data', little: 'little data' },
};

export const isItemMeasure = (text: string | null): text is ItemMeasure => text !== null && text in ITEM_MEASURES;

/** What a map's areas show: rates, or amounts of what has an order and no times. */
export function amountOf(size: string | null, hasTimes: boolean): ItemMeasure {
  if (size === 'bytes') return hasTimes ? 'bw' : 'bytes';
  return hasTimes ? 'iops' : 'count';
}

/** A measure of an item as text. */
export const itemText = (item: MapItem, measure: ItemMeasure): string =>
  inUnit(ITEM_MEASURES[measure].of(item), ITEM_MEASURES[measure].unit);

/** Most first; what has none comes last. Equal ones keep their order. */
export function sortItems(items: readonly MapItem[], measure: ItemMeasure): MapItem[] {
  const { of } = ITEM_MEASURES[measure];
  return [...items].sort((a, b) => (of(b) ?? -Infinity) - (of(a) ?? -Infinity));
}

/** Whether a search finds an item: every word of it somewhere in the name. */
export function matches(item: MapItem, searched: string): boolean {
  const name = `${item.name} tile ${item.tile} ${item.host ?? ''}`.toLowerCase();
  return searched.toLowerCase().split(/\s+/).every((word) => name.includes(word));
}

export const PINS = 4;

/** Pins one more, or takes it away; the oldest goes if there are too many. */
export function pin(pinned: readonly string[], name: string): string[] {
  if (pinned.includes(name)) return pinned.filter((other) => other !== name);
  return [...pinned, name].slice(-PINS);
}

/** How near an item is to its limit, 0 to 4; 4 is over it. */
export type Nearness = 0 | 1 | 2 | 3 | 4;
export const NEARNESS = ['below 25 %', '25 to 50 %', '50 to 75 %', '75 to 100 %', 'over 100 %'] as const;

export function nearness(ratio: number): Nearness {
  return ratio > 1 ? 4 : (Math.min(3, Math.floor(ratio * 4)) as Nearness);
}

/** An item's level on a scale from 0 to 1: nearness to its limit, or where its p99 lies among all. */
export function levelOf(item: MapItem, by: 'limit' | 'p99', range: readonly [number, number]): number | null {
  if (by === 'limit') {
    const ratio = item.limit?.ratio ?? null;
    return ratio === null ? null : nearness(ratio) / 4;
  }
  if (item.p99_ns === null) return null;
  const [low, high] = range;
  return high > low ? Math.log(item.p99_ns / low) / Math.log(high / low) : 0.5;
}

/** Least and most p99 of items, nanoseconds. */
export function p99Range(items: readonly MapItem[]): [number, number] {
  const known = items.flatMap((item) => item.p99_ns ?? []);
  return known.length ? [Math.max(1, Math.min(...known)), Math.max(...known)] : [1, 1];
}

/** An item in words. */
export function itemWords(item: MapItem): string {
  const limit = item.limit;
  const held = limit?.measured_ns == null ? '' : `; ${limit.name} ${inUnit(limit.measured_ns, 'ns')} of ${inUnit(limit.limit_ns, 'ns')} allowed ` +
    `(${inUnit(limit.ratio, 'share')}), ${limit.verdict}`;
  return `${item.name}${item.host ? ` on ${item.host}` : ''}: ${itemText(item, 'iops')}, ${itemText(item, 'bw')}, p99 ${itemText(item, 'p99')}${held}`;
}

/** Whether an item breaks its limit. */
export const isOver = (item: MapItem): boolean => (item.limit?.ratio ?? 0) > 1;
