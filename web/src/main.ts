import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
import { offline } from './lib/api/offline';
import { Online } from './lib/api/online';
import { session } from './lib/api/session.svelte';
import { router } from './lib/router.svelte';

const target = document.getElementById('app');

/** Shows the page on whatever answers it. */
async function start(target: HTMLElement): Promise<void> {
  // One of the two is left out of the build.
  session.transport = __REPORT__ ? await offline() : new Online();
  // Asked for before anything is built: the answer comes meanwhile.
  if (router.place.page === 'run') void session.open(router.place.id);
  mount(App, { target });
}

if (target) {
  start(target).catch((error: unknown) => {
    target.textContent = error instanceof Error ? error.message : String(error);
  });
}
