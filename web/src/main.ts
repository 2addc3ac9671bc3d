import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
import { session } from './lib/api/session.svelte';
import type { Transport } from './lib/api/transport';

async function transport(): Promise<Transport> {
  if (__REPORT__) return (await import('./lib/api/offline')).offline();
  return new (await import('./lib/api/online')).Online();
}

const target = document.getElementById('app');
if (target) {
  transport().then(
    (found) => {
      session.transport = found;
      mount(App, { target });
    },
    (error: unknown) => {
      target.textContent = error instanceof Error ? error.message : String(error);
    },
  );
}
