// The run that is looked at: its page, how it goes, and whether the server answers.

import { setOrigin } from '../format';
import type { Transport } from './transport';
import { Unreachable } from './transport';
import type { LiveState, RunPage } from './types';

/** How often somebody who went away is asked for, milliseconds. */
const ASK_AGAIN_MS = 2000;
/** How often the page of a watched host is asked for again: a slice is ten seconds. */
const WATCHED_MS = 10_000;
/** Views of a running run are asked for again at most this often, milliseconds. */
const REFETCH_MS = 1000;

class Session {
  transport: Transport | null = $state.raw(null);
  page: RunPage | null = $state.raw(null);
  live: LiveState | null = $state.raw(null);
  /** Views are asked for again when this grows. */
  version = $state(0);
  /** When the server was last heard of, if it does not answer now. */
  lostSince: Date | null = $state(null);
  error: string | null = $state(null);

  private id = '';
  private isOpening = false;
  private stop: (() => void) | null = null;
  private asking: ReturnType<typeof setTimeout> | null = null;
  private refetched = 0;
  private askAgain: ReturnType<typeof setInterval> | null = null;

  /** Looks at a run; looking at the same one again changes nothing. */
  async open(id: string): Promise<void> {
    if (id === this.id && (this.isOpening || this.page)) return;
    this.close();
    this.id = id;
    this.isOpening = true;
    await this.load();
  }

  /** Looks at nothing. */
  close(): void {
    this.stop?.();
    this.stop = null;
    if (this.askAgain) clearInterval(this.askAgain);
    this.askAgain = null;
    setOrigin(null);
    this.id = '';
    this.isOpening = false;
    this.page = null;
    this.live = null;
    this.error = null;
    this.version = 0;
  }

  private async load(): Promise<void> {
    const id = this.id;
    if (!this.transport) return;
    try {
      const page = await this.transport.page(id);
      if (id !== this.id) return;
      this.isOpening = false;
      setOrigin(page.row.kind === 'watched' ? Date.parse(page.row.started) : null);
      this.page = page;
      this.live = page.live;
      this.error = null;
      this.found();
      if (page.row.kind === 'watched') this.askAgain ??= setInterval(() => void this.grown(), WATCHED_MS);
      if (page.row.state === 'running' && !this.stop) this.listen();
    } catch (error) {
      if (id !== this.id) return;
      this.isOpening = false;
      this.failed(error);
      this.error = this.page ? null : message(error);
    }
  }

  private listen(): void {
    this.stop = this.transport?.live(this.id, {
      state: (state) => this.heard(state),
      end: () => void this.ended(),
      lost: () => this.lost(),
    }) ?? null;
  }

  private heard(state: LiveState): void {
    this.found();
    const isNews = state.version !== this.live?.version;
    this.live = state;
    const now = performance.now();
    if (isNews && now - this.refetched >= REFETCH_MS * 0.9) {
      this.refetched = now;
      this.version += 1;
      void this.refreshSteps();
    }
  }

  /** New steps of the ladder come with the page. */
  private async refreshSteps(): Promise<void> {
    const id = this.id;
    try {
      const page = await this.transport?.page(id);
      if (page && id === this.id) this.page = page;
    } catch (error) {
      this.failed(error);
    }
  }

  /** The store of a watched host has more slices. */
  private async grown(): Promise<void> {
    const end = this.page?.end_ns;
    await this.refreshSteps();
    if (this.page?.end_ns !== end) this.version += 1;
  }

  private async ended(): Promise<void> {
    this.stop = null;
    await this.load();
    this.live = null;
    this.version += 1;
  }

  /** An answer failed; only silence counts as being away. */
  failed(error: unknown): void {
    if (error instanceof Unreachable) this.lost();
  }

  private lost(): void {
    this.lostSince ??= new Date();
    this.asking ??= setTimeout(() => void this.ask(), ASK_AGAIN_MS);
  }

  private found(): void {
    this.lostSince = null;
  }

  private async ask(): Promise<void> {
    this.asking = null;
    if (!this.lostSince) return;
    if (await this.transport?.isThere()) {
      this.found();
      this.version += 1;
      if (this.id) await this.load();
    } else {
      this.lost();
    }
  }
}

/** An error in words. */
export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export const session = new Session();
