// The lens of this page, held in its address.

import { router } from '../router.svelte';
import { readLens, writeLens, type Lens } from './lens';

/** Keys that are no lens but belong to the page: what is folded out, sorted by, shown beside. */
export const PAGE_KEYS = [
  'tbl', 'grid', 'cols', 'order', 'share', 'x', 'y', 'size', 'sort', 'pin', 'a', 'b', 'name', 'free',
  'colour', 'tier', 'kind', 'panel', 'tail', 'lines', 'runs',
] as const;
export type PageKey = (typeof PAGE_KEYS)[number];

class LensStore {
  /** The query before dragging began. */
  private before: string | null = null;
  private readonly query = $derived(new URLSearchParams(router.query));
  readonly current: Lens = $derived(readLens(this.query));

  /** A key of the page itself. */
  extra(key: PageKey): string | null {
    return this.query.get(key);
  }

  private extras(): Record<string, string> {
    const kept: Record<string, string> = {};
    for (const key of PAGE_KEYS) {
      const value = this.query.get(key);
      if (value) kept[key] = value;
    }
    return kept;
  }

  /** Changes the lens. `commit: false` while dragging: the browser's history keeps one entry. */
  set(patch: Partial<Lens>, commit = true): void {
    this.write({ ...this.current, ...patch }, this.extras(), commit);
  }

  /** Changes a key of the page; an empty value removes it. */
  setExtra(key: PageKey, value: string | null, commit = true): void {
    this.write(this.current, { ...this.extras(), [key]: value ?? '' }, commit);
  }

  private write(lens: Lens, extra: Record<string, string>, commit: boolean): void {
    const address = (query: string): string => (query ? `${router.path}?${query}` : router.path);
    const query = writeLens(lens, extra);
    if (!commit) {
      this.before ??= router.query;
      router.go(address(query), true);
      return;
    }
    // The browser's way back leads to where dragging began.
    if (this.before !== null) router.go(address(this.before), true);
    this.before = null;
    if (query !== router.query) router.go(address(query));
  }

  /** The query that links to other pages of the run carry: the lens without the moment. */
  carried(): string {
    const query = writeLens({ ...this.current, at: null });
    return query ? `?${query}` : '';
  }
}

export const lens = new LensStore();
