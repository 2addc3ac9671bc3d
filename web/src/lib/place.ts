// Places of the page by their path.

export type RunView = 'overview' | 'workload' | 'latency' | 'map' | 'tier';

export type Place =
  | { page: 'runs' }
  | { page: 'run'; id: string; view: RunView }
  | { page: 'compare' }
  | { page: 'trend' }
  | { page: 'study'; name: string }
  | { page: 'lost'; path: string };

const VIEWS: readonly string[] = ['overview', 'workload', 'latency', 'map', 'tier'];

/** The place of a path. */
export function readPlace(path: string): Place {
  const parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  const [first, second, third] = parts;
  if (first === undefined) return { page: 'runs' };
  if (first === 'compare' && parts.length === 1) return { page: 'compare' };
  if (first === 'trend' && parts.length === 1) return { page: 'trend' };
  if (first === 'study' && second && parts.length === 2) return { page: 'study', name: second };
  if (first === 'study' && parts.length === 1) return { page: 'study', name: '' };
  if (first === 'run' && second && parts.length <= 3) {
    const view = third ?? 'overview';
    if (VIEWS.includes(view)) return { page: 'run', id: second, view: view as RunView };
  }
  return { page: 'lost', path };
}

/** Splits an address below the root into path and query. */
export function splitAddress(text: string): [string, string] {
  const mark = text.indexOf('?');
  return mark < 0 ? [text, ''] : [text.slice(0, mark), text.slice(mark + 1)];
}
