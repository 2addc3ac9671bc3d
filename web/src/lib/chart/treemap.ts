// Places of workloads in a map: groups of hosts or tiles, in them workloads, areas true to amounts.

import type { MapItem } from '../api/types';
import { counted } from '../format';

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}
export interface GroupBox extends Box {
  name: string;
  /** Pixels for the name above its cells; 0 if there is no room. */
  head: number;
}
export interface CellBox extends Box {
  item: MapItem;
}
export interface MapLayout {
  groups: GroupBox[];
  cells: CellBox[];
  /** Items without any amount; they have no area. */
  left: number;
}

/** The group of an item: its host, else its tile, else none. */
export const groupOf = (item: MapItem): string => item.host ?? (item.tile > 0 ? `tile ${item.tile}` : '');

/** The name of an item within its group. */
export function shortName(item: MapItem): string {
  if (item.host !== null) return item.name;
  return item.tile > 0 ? item.workload : item.name;
}

export function layout(
  items: readonly MapItem[],
  amount: (item: MapItem) => number,
  width: number,
  height: number,
  headHeight = 16,
): MapLayout {
  const known = items.filter((item) => amount(item) > 0);
  const groups = new Map<string, MapItem[]>();
  for (const item of known) {
    const list = groups.get(groupOf(item));
    if (list) list.push(item);
    else groups.set(groupOf(item), [item]);
  }
  const hasHeads = groups.size > 1 && (width * height) / groups.size > 7000;
  const head = hasHeads ? headHeight : 0;
  const most = <T>(list: T[], of: (one: T) => number): T[] => list.sort((one, other) => of(other) - of(one));
  const sum = (list: readonly MapItem[]): number => list.reduce((all, item) => all + amount(item), 0);
  const parts = most([...groups], ([, list]) => sum(list));
  const boxes = squarify(parts.map(([, list]) => sum(list)), { x: 0, y: 0, w: width, h: height }, 5);
  return {
    groups: boxes.map((box, at) => ({ ...box, name: parts[at]?.[0] ?? '', head })),
    cells: boxes.flatMap((box, at) => {
      const list = most(parts[at]?.[1] ?? [], amount);
      const inner = { ...box, y: box.y + head, h: Math.max(0, box.h - head) };
      return squarify(list.map(amount), inner, 1).flatMap((cell, own) => (list[own] ? [{ ...cell, item: list[own] }] : []));
    }),
    left: items.length - known.length,
  };
}

/** Wanted longer side of a box by its shorter one: a little wide, so that names fit. */
const RATIO = 1.3;

/**
 * Boxes in a box, areas true to values, which descend: rows along its shorter side, each as long as
 * its boxes become more like squares (Bruls, Huizing and van Wijk, "Squarified Treemaps", 2000).
 */
export function squarify(values: readonly number[], box: Box, gap: number): Box[] {
  const placed: Box[] = [];
  // Half a gap around each: none at the edges of the whole.
  let { x, y, w, h } = { x: box.x - gap / 2, y: box.y - gap / 2, w: box.w + gap, h: box.h + gap };
  let rest = values.reduce((sum, value) => sum + value, 0);
  for (let from = 0; from < values.length;) {
    const isWide = w > h;
    const side = isWide ? h : w;
    const scale = (w * h) / rest;
    /** The worst shape in a row of these. */
    const worst = (row: readonly number[]): number => {
      const sum = row.reduce((all, value) => all + value, 0);
      const across = (sum * scale) / side;
      return Math.max(...row.map((value) => {
        const along = (value / sum) * side;
        return Math.max(along / across / RATIO, (across / along) * RATIO);
      }));
    };
    let to = from + 1;
    while (to < values.length && worst(values.slice(from, to + 1)) <= worst(values.slice(from, to))) to += 1;
    const row = values.slice(from, to);
    const sum = row.reduce((all, value) => all + value, 0);
    const across = side > 0 && rest > 0 ? (sum / rest) * (isWide ? w : h) : 0;
    let at = isWide ? y : x;
    for (const value of row) {
      const along = (value / sum) * side;
      placed.push(isWide ? { x, y: at, w: across, h: along } : { x: at, y, w: along, h: across });
      at += along;
    }
    if (isWide) [x, w] = [x + across, w - across];
    else [y, h] = [y + across, h - across];
    rest -= sum;
    from = to;
  }
  return placed.map((one) => ({ x: one.x + gap / 2, y: one.y + gap / 2, w: Math.max(0, one.w - gap), h: Math.max(0, one.h - gap) }));
}

/** As much of a text as fits, in letters about `letter` pixels wide; empty if it says nothing. */
export function fitted(text: string, width: number, letter: number): string {
  const room = Math.floor(width / letter);
  if (text.length <= room) return text;
  return room >= 4 ? `${text.slice(0, room - 1)}…` : '';
}

/** What groups are called together. */
export function groupsText(items: readonly MapItem[]): string {
  // A workload that went from one host to another names both.
  const hosts = new Set(items.flatMap((item) => item.host?.split(', ') ?? []));
  if (hosts.size > 0) return counted(hosts.size, 'host');
  // What belongs to no tile (infrastructure operations) is none.
  const tiles = new Set(items.map((item) => item.tile).filter((tile) => tile > 0)).size;
  return tiles ? counted(tiles, 'tile') : '';
}
