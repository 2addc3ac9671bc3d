import type { ComparePage, Documents, LiveState, RunList, RunPage, RunsTrend, StudyList, StudyPage, ViewName } from './types';

/** An answer, and what is not quite as it was asked for. */
export interface Answer<T> {
  document: T;
  /** Words for the chart where the answer is to a nearby request. */
  note: string | null;
  /** Whether the time asked for was ignored: the chart crops what it has. */
  isUncropped: boolean;
}

/** What a running run tells. */
export interface LiveHandlers {
  state(state: LiveState): void;
  end(): void;
  lost(): void;
}

/** Where documents come from: a server, or the report's own page. */
export interface Transport {
  readonly isOffline: boolean;
  /** The only run there is, where there can be no other: a report's. */
  readonly only: string | null;
  runs(): Promise<RunList>;
  page(id: string): Promise<RunPage>;
  view<V extends ViewName>(
    id: string,
    request: string,
    signal: AbortSignal,
  ): Promise<Answer<Documents[V]>>;
  compare(a: string, b: string): Promise<ComparePage>;
  /** Runs side by side, each compared with the oldest. */
  trend(runs: readonly string[]): Promise<RunsTrend>;
  studies(): Promise<StudyList>;
  study(name: string): Promise<StudyPage>;
  /** Begins to listen; returns what ends it. */
  live(id: string, handlers: LiveHandlers): () => void;
  /** Whether somebody answers. */
  isThere(): Promise<boolean>;
}

/** No answer came, as against an answer that says no. */
export class Unreachable extends Error {
  constructor() {
    super('the server does not answer');
  }
}

/** The server's answer is that it cannot. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    detail: string,
  ) {
    super(detail || title);
  }
}
