// Documents from `tilemark serve`. A token, where one is needed, is a cookie that the server set.

import { requestPath } from '../lens/lens';
import type { Answer, LiveHandlers, Transport } from './transport';
import { Refused, Unreachable } from './transport';
import type { ComparePage, Documents, LiveState, Problem, RunList, RunPage, RunsTrend, StudyList, StudyPage, ViewName } from './types';

const BASE = '/api/v1';

/** Numbers longer than a double holds exactly become text, or a seed would be shown wrong. */
export function exactSeeds(text: string): string {
  return text.replace(/"seed":\s*(\d{16,})/g, '"seed":"$1"');
}

async function fetched(path: string, signal?: AbortSignal): Promise<string> {
  const headers = { accept: 'application/json' };
  let response: Response;
  let text: string;
  try {
    response = await fetch(BASE + path, { headers, signal: signal ?? null });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable();
  }
  if (response.ok) return text;
  let problem: Partial<Problem> = {};
  try {
    problem = JSON.parse(text) as Partial<Problem>;
  } catch {
    // Whoever answered, it was not us: a proxy without a server behind it.
    if (response.status >= 502) throw new Unreachable();
  }
  throw new Refused(response.status, problem.title ?? `answer ${response.status}`, problem.detail ?? '');
}

async function got<T>(path: string, signal?: AbortSignal): Promise<T> {
  return JSON.parse(await fetched(path, signal)) as T;
}

const encoded = encodeURIComponent;

export class Online implements Transport {
  readonly isOffline = false;
  readonly only = null;

  runs(): Promise<RunList> {
    return got('/runs');
  }

  async page(id: string): Promise<RunPage> {
    return JSON.parse(exactSeeds(await fetched(`/runs/${encoded(id)}`))) as RunPage;
  }

  async view<V extends ViewName>(
    id: string,
    request: string,
    signal: AbortSignal,
  ): Promise<Answer<Documents[V]>> {
    const path = `/runs/${encoded(id)}/${requestPath(request)}`;
    return { document: await got<Documents[V]>(path, signal), note: null, isUncropped: false };
  }

  compare(a: string, b: string): Promise<ComparePage> {
    return got(`/compare?a=${encoded(a)}&b=${encoded(b)}`);
  }

  trend(runs: readonly string[]): Promise<RunsTrend> {
    return got(`/trend?${runs.map((id) => `run=${encoded(id)}`).join('&')}`);
  }

  studies(): Promise<StudyList> {
    return got('/studies');
  }

  study(name: string): Promise<StudyPage> {
    return got(`/studies/${encoded(name)}`);
  }

  live(id: string, handlers: LiveHandlers): () => void {
    const source = new EventSource(`${BASE}/runs/${encoded(id)}/live`);
    source.addEventListener('state', (event) => {
      handlers.state(JSON.parse((event as MessageEvent<string>).data) as LiveState);
    });
    source.addEventListener('end', () => {
      source.close();
      handlers.end();
    });
    source.addEventListener('error', () => handlers.lost());
    return () => source.close();
  }

  async isThere(): Promise<boolean> {
    try {
      const response = await fetch('/healthz', { cache: 'no-store' });
      return response.ok;
    } catch {
      return false;
    }
  }
}
