// Where we are: the path is the place, the query is the lens. In the report both follow `#`.

export type RunView = 'overview' | 'workload' | 'latency' | 'map' | 'tier';

export type Place =
  | { page: 'runs' }
  | { page: 'run'; id: string; view: RunView }
  | { page: 'compare' }
  | { page: 'study'; name: string }
  | { page: 'lost'; path: string };

const VIEWS: readonly string[] = ['overview', 'workload', 'latency', 'map', 'tier'];

/** The place of a path. */
export function readPlace(path: string): Place {
  const parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  const [first, second, third] = parts;
  if (first === undefined) return { page: 'runs' };
  if (first === 'compare' && parts.length === 1) return { page: 'compare' };
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

function current(): [string, string] {
  if (!__REPORT__) return [location.pathname, location.search.slice(1)];
  const text = location.hash.slice(1);
  const [path, query] = splitAddress(text);
  return [path.startsWith('/') ? path : `/${path}`, query];
}

class Router {
  path = $state('/');
  query = $state('');
  place = $derived(readPlace(this.path));

  constructor() {
    this.read();
    addEventListener('popstate', () => this.read());
    if (__REPORT__) addEventListener('hashchange', () => this.read());
  }

  private read(): void {
    [this.path, this.query] = current();
  }

  /** What a link to a place carries. */
  href(address: string): string {
    return __REPORT__ ? `#${address}` : address;
  }

  /** Goes to a place, `/run/ID/latency?t=40-75`; with `replace` the browser forgets where we were. */
  go(address: string, replace = false): void {
    const [path, query] = splitAddress(address);
    const moved = path !== this.path;
    const text = this.href(query ? `${path}?${query}` : path);
    if (replace) history.replaceState(null, '', text);
    else history.pushState(null, '', text);
    this.path = path;
    this.query = query;
    if (moved) scrollTo(0, 0);
  }

  /** Keeps clicks on our own links on this page. */
  follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest('a');
    const href = link?.getAttribute('href');
    if (!link || !href || link.target || link.hasAttribute('download')) return;
    const address = __REPORT__ ? href.slice(1) : href;
    if (!address.startsWith('/') || address.startsWith('/api/')) return;
    event.preventDefault();
    this.go(address);
  }
}

export const router = new Router();
