// Places of workloads in a map: groups of hosts or tiles, in them workloads, areas true to amounts.

import { hierarchy, treemap, treemapSquarify } from 'd3-hierarchy';
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

interface Node {
  name: string;
  children?: Node[];
  item?: MapItem;
  value?: number;
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
  const data: Node = {
    name: '',
    children: [...groups].map(([name, list]) => ({
      name,
      children: list.map((item) => ({ name: item.name, item, value: amount(item) })),
    })),
  };
  const root = hierarchy<Node>(data)
    .sum((node) => node.value ?? 0)
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const placed = treemap<Node>()
    .tile(treemapSquarify.ratio(1.3))
    .size([width, height])
    .paddingInner((node) => (node.depth === 0 ? 5 : 1))
    .paddingTop((node) => (node.depth === 1 ? head : 0))(root);
  const box = (node: { x0: number; x1: number; y0: number; y1: number }): Box => ({
    x: node.x0, y: node.y0, w: Math.max(0, node.x1 - node.x0), h: Math.max(0, node.y1 - node.y0),
  });
  return {
    groups: (placed.children ?? []).map((node) => ({ ...box(node), name: node.data.name, head })),
    cells: placed.leaves().flatMap((node) => (node.data.item ? [{ ...box(node), item: node.data.item }] : [])),
    left: items.length - known.length,
  };
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
