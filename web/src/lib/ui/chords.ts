// Keys that work anywhere on the page; those of a chart are in `chart/keys.ts`.

import type { Breakdown, Direction } from '../lens/lens';

export type PageAction =
  | { do: 'go'; to: 'overview' | 'runs' | 'workload' | 'latency' | 'map' | 'tier' | 'compare' }
  | { do: 'class'; position: number }
  | { do: 'direction'; direction: Direction }
  | { do: 'breakdown'; breakdown: Breakdown }
  | { do: 'search' }
  | { do: 'help' }
  | { do: 'details' }
  | { do: 'escape' };

const PLACES = {
  o: 'overview', r: 'runs', w: 'workload', l: 'latency', m: 'map', t: 'tier', c: 'compare',
} as const;

/** Reads keys one after the other: `g` and the next one belong together. */
export class Chords {
  /** When `g` was pressed. */
  private pending = -Infinity;

  /** The action of a key at a time in milliseconds; null if it means nothing. */
  read(key: string, now: number): PageAction | null {
    const isAfterG = now - this.pending < 1500;
    this.pending = -Infinity;
    if (isAfterG) {
      const to = PLACES[key as keyof typeof PLACES];
      if (to) return { do: 'go', to };
    }
    if (key === 'g') {
      this.pending = now;
      return null;
    }
    if (/^[1-8]$/.test(key)) return { do: 'class', position: Number(key) - 1 };
    if (key === 'r' || key === 'w') return { do: 'direction', direction: key };
    if (key === '/') return { do: 'search' };
    if (key === 'i') return { do: 'details' };
    if (key === '?') return { do: 'help' };
    if (key === 'Escape') return { do: 'escape' };
    return null;
  }
}

/** Whether keys belong to what has the focus. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
