// Documents that the report carries in its own page.

import { nearest } from './nearest';
import { exactSeeds } from './online';
import type { Answer, Transport } from './transport';
import { Refused } from './transport';
import type { ComparePage, Documents, RunList, RunPage, RunsTrend, StudyList, StudyPage, ViewName } from './types';

/** What is packed into the page. */
export interface Packed {
  page: RunPage;
  answers: Record<string, unknown>;
}

/** Unpacks base64 of gzip or raw deflate of JSON. */
export async function unpack(base64: string): Promise<Packed> {
  const clean = base64.replace(/[^A-Za-z0-9+/=]/g, '');
  const letters = atob(clean);
  // A plain loop: `Uint8Array.from` takes twenty times as long for two million letters.
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const stream = new Blob([bytes]).stream();
  const plain = stream.pipeThrough(new DecompressionStream(isGzip ? 'gzip' : 'deflate-raw'));
  return JSON.parse(exactSeeds(await new Response(plain).text())) as Packed;
}

export class Offline implements Transport {
  readonly isOffline = true;
  private readonly known: ReadonlySet<string>;

  constructor(private readonly packed: Packed) {
    this.known = new Set(Object.keys(packed.answers));
  }

  get only(): string {
    return this.packed.page.row.id;
  }

  runs(): Promise<RunList> {
    return Promise.resolve({ base: 'this report', runs: [this.packed.page.row] });
  }

  page(): Promise<RunPage> {
    return Promise.resolve(this.packed.page);
  }

  view<V extends ViewName>(_id: string, request: string): Promise<Answer<Documents[V]>> {
    const found = nearest(request, this.known);
    if (!found) {
      const detail = 'This report does not hold this view. Open the run with `tilemark serve` to see it.';
      return Promise.reject(new Refused(404, 'not in this report', detail));
    }
    return Promise.resolve({
      document: this.packed.answers[found.request] as Documents[V],
      note: found.note,
      isUncropped: found.dropped.includes('t'),
    });
  }

  compare(): Promise<ComparePage> {
    return Promise.reject(new Refused(404, 'not in this report', 'A report holds one run.'));
  }

  trend(): Promise<RunsTrend> {
    return Promise.reject(new Refused(404, 'not in this report', 'A report holds one run.'));
  }

  studies(): Promise<StudyList> {
    return Promise.resolve({ studies: [] });
  }

  study(): Promise<StudyPage> {
    return Promise.reject(new Refused(404, 'not in this report', 'A report holds one run.'));
  }

  live(): () => void {
    return () => undefined;
  }

  isThere(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

/** The report's data, from its page. */
export async function offline(): Promise<Offline> {
  const text = document.getElementById('tilemark-data')?.textContent?.trim() ?? '';
  if (!text) throw new Error('this is the template of a report: it holds no run');
  return new Offline(await unpack(text));
}
