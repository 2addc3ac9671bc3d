// While the page goes to paper: what is folded is open, and charts are as wide as the paper.

import { flushSync } from 'svelte';

/** Width of a chart on A4 and on US letter between margins of 12 mm and a frame, CSS pixels. */
export const PAPER_WIDTH = 660;

class Print {
  isOn = $state(false);

  constructor() {
    // The browser lays paper out as soon as its event was handled: nothing may be left for later.
    addEventListener('beforeprint', () => flushSync(() => (this.isOn = true)));
    addEventListener('afterprint', () => (this.isOn = false));
    matchMedia('print').addEventListener('change', (event) => (this.isOn = event.matches));
  }
}

export const print = new Print();
