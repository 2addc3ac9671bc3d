// Time that charts of a page share: the cursor, the window, and what keys do to it.

import { session } from '../api/session.svelte';
import { lens } from '../lens/store.svelte';

class Hover {
  /** Where the cursor of the page is, nanoseconds on the run's axis. */
  ns: number | null = $state(null);
}

export const hover = new Hover();

/** The window that charts show, nanoseconds on the run's axis. */
export function shownWindow(): [number, number] {
  const page = session.page;
  const end = Math.max(page?.end_ns ?? 0, 1);
  const { t, step } = lens.current;
  if (t) return [t[0] * 1e6, t[1] === null ? end : Math.min(t[1] * 1e6, Math.max(end, t[0] * 1e6 + 1))];
  const spans = (page?.steps ?? []).filter((span) => span.step === step);
  if (step !== null && spans.length) {
    return [Math.min(...spans.map((span) => span.from_ns)), Math.max(...spans.map((span) => span.to_ns))];
  }
  return [0, end];
}

/** Shows only what is between two times; nothing shorter than three slices. */
export function setWindow(fromNs: number, toNs: number, commit = true): void {
  const page = session.page;
  const end = page?.end_ns ?? 0;
  const least = Math.max((page?.slice_ns ?? 1e9) * 3, 3e6);
  const middle = (fromNs + toNs) / 2;
  const half = Math.max(toNs - fromNs, least) / 2;
  const from = Math.max(0, middle - half);
  const to = Math.min(end, middle + half);
  if (from <= 0 && to >= end) {
    lens.set({ t: null }, commit);
    return;
  }
  lens.set({ t: [Math.floor(from / 1e6), Math.max(Math.ceil(to / 1e6), Math.floor(from / 1e6) + 1)] }, commit);
}

/** Nearer or further about a time. */
export function zoomAt(isIn: boolean, ns: number): void {
  const [from, to] = shownWindow();
  const factor = isIn ? 0.5 : 2;
  setWindow(ns - (ns - from) * factor, ns + (to - ns) * factor);
}

/** Moves the window by a part of its length. */
export function pan(part: number): void {
  const [from, to] = shownWindow();
  const end = session.page?.end_ns ?? 0;
  const by = Math.max(-from, Math.min(end - to, (to - from) * part));
  setWindow(from + by, to + by);
}

/** Back: first out of the moment, then out of the window. */
export function back(): void {
  if (lens.current.at !== null) lens.set({ at: null });
  else if (lens.current.t) lens.set({ t: null });
}

/** Opens the moment of a time. */
export function drill(ns: number): void {
  lens.set({ at: Math.floor(ns / 1e6) });
}
