// What a trace says of the bytes it uses, as tables to read, and the miss ratios as lines to draw.

import type { AccessPage } from '../api/types';
import { bytes, latency, share, span, whole } from '../format';

/** Rows of text under a head; columns of text first, then numbers. */
export interface TextTable {
  title: string;
  head: string[];
  /** How many of the columns are text. */
  words: number;
  rows: string[][];
}

/** Who has numbers of their own, everybody together first. */
export const senders = (doc: AccessPage): string[] => [...new Set(doc.working_set.map(({ vm }) => vm))];

/** A line for each size of page: cache and share of references that miss it, smallest cache first. */
export function curves(doc: AccessPage, vm: string): { page: number; points: [number, number][] }[] {
  const mine = doc.miss_ratio.filter((row) => row.vm === vm);
  return [...new Set(mine.map(({ page_bytes }) => page_bytes))].map((page) => ({
    page,
    points: mine.filter(({ page_bytes }) => page_bytes === page).map(({ cache_bytes, miss_ratio }): [number, number] => [cache_bytes, miss_ratio]),
  }));
}

/** A share with its interval: `81.2 % (75.0 % to 87.4 %)`. */
function between(value: number | null, low: number | null | undefined, high: number | null | undefined): string {
  return low == null || high == null ? share(value) : `${share(value)} (${share(low)} to ${share(high)})`;
}

/** The tables of one sender, without those that have no rows. */
export function tables(doc: AccessPage, vm: string): TextTable[] {
  const mine = <T extends { vm: string }>(rows: readonly T[]): T[] => rows.filter((row) => row.vm === vm);
  const all: TextTable[] = [
    {
      title: 'Working set', words: 1, head: ['Touched in', 'Windows', 'Mean', 'Largest'],
      rows: mine(doc.working_set).map((row) => [row.window_ns == null ? 'the whole time' : span(row.window_ns), whole(row.windows), bytes(row.mean_bytes), bytes(row.max_bytes)]),
    },
    {
      title: 'What a tier would serve (64 KiB pages, write-back, empty at first)', words: 0, head: ['Tier', 'Of reads', 'Of I/Os', 'Written to it'],
      rows: mine(doc.tiers).map((row) => [bytes(row.tier_bytes), between(row.reads_served, row.reads_served_low, row.reads_served_high), between(row.io_served, row.io_served_low, row.io_served_high), bytes(row.tier_written_bytes)]),
    },
    {
      title: 'Where I/Os begin within 4 KiB', words: 2, head: ['Direction', 'Sector of 8', 'I/Os', 'Share'],
      rows: mine(doc.alignment).map((row) => [row.direction, row.sector_mod_8 === 0 ? '0, aligned' : String(row.sector_mod_8), whole(row.count), share(row.share)]),
    },
    {
      title: 'Small I/O (below 32 KiB) beside large (64 KiB and above)', words: 2, head: ['Direction', 'Large in flight', 'I/Os', 'Median', 'p99'],
      rows: mine(doc.beside_large).flatMap((row) => [
        [row.direction, 'no', whole(row.alone_count), latency(row.alone_p50_ns), latency(row.alone_p99_ns)],
        [row.direction, 'yes', whole(row.beside_count), latency(row.beside_p50_ns), latency(row.beside_p99_ns)],
      ]),
    },
  ];
  return all.filter(({ rows }) => rows.length > 0);
}
