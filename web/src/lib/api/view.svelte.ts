// One view of the run through the lens, asked for again when the lens or the run changes.

import { canonical, type Extent, type Lens } from '../lens/lens';
import { lens } from '../lens/store.svelte';
import { router } from '../router.svelte';
import { message, session } from './session.svelte';
import type { Answer } from './transport';
import type { Documents, ViewName } from './types';

/** What a chart asks for beyond the lens. */
export interface Wish extends Extent {
  /** Keys of the lens that this chart sets itself. */
  lens?: Partial<Lens>;
  /** False while the chart is not wanted. */
  isWanted?: boolean;
}

const KEPT = 60;
const kept = new Map<string, Answer<unknown>>();

function remember(key: string, answer: Answer<unknown>): void {
  kept.delete(key);
  kept.set(key, answer);
  const oldest = kept.keys().next().value;
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
}

/** The answer to a view; what was shown stays until the next answer is there. */
export class ViewQuery<V extends ViewName> {
  document: Documents[V] | null = $state.raw(null);
  note: string | null = $state(null);
  isUncropped = $state(false);
  error: string | null = $state(null);
  isLoading = $state(false);
  /** The request of `document`. */
  request = $state('');
  /** Charts out of sight are not asked for again while a run goes on. */
  isVisible = $state(true);

  private controller: AbortController | null = null;
  private shown = '';

  constructor(
    private readonly view: V,
    private readonly wish: () => Wish,
  ) {
    $effect(() => {
      const wish = this.wish();
      const id = router.place.page === 'run' ? router.place.id : '';
      const request = canonical(this.view, { ...lens.current, ...wish.lens }, wish);
      const key = `${id}/${request}@${session.version}`;
      if (!id || !session.page || wish.isWanted === false || this.shown === key) return;
      if (!this.isVisible && this.shown.startsWith(`${id}/${request}@`)) return;
      void this.ask(id, request, key);
    });
    $effect(() => () => this.controller?.abort());
  }

  private async ask(id: string, request: string, key: string): Promise<void> {
    this.shown = key;
    this.controller?.abort();
    const known = kept.get(key) as Answer<Documents[V]> | undefined;
    if (known) {
      this.take(request, known);
      return;
    }
    const controller = new AbortController();
    this.controller = controller;
    this.isLoading = true;
    try {
      const transport = session.transport;
      if (!transport) return;
      const answer = await transport.view<V>(id, request, controller.signal);
      if (controller.signal.aborted) return;
      remember(key, answer);
      this.take(request, answer);
    } catch (error) {
      if (controller.signal.aborted) return;
      session.failed(error);
      this.error = message(error);
      this.shown = '';
    }
    this.isLoading = false;
  }

  private take(request: string, answer: Answer<Documents[V]>): void {
    this.document = answer.document;
    this.note = answer.note;
    this.isUncropped = answer.isUncropped;
    this.request = request;
    this.error = null;
    this.isLoading = false;
  }
}

/** Asks for a view while the calling component is on the page. */
export function view<V extends ViewName>(name: V, wish: () => Wish = () => ({})): ViewQuery<V> {
  return new ViewQuery(name, wish);
}
