// Where we are: the path is the place, the query is the lens. In the report both follow `#`.

import { readPlace, splitAddress } from './place';

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
