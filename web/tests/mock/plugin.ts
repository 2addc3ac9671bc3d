// The interface of `tilemark serve`, answered from made-up runs: for development, and for tests
// of the page without the program.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin } from 'vite';
import type { LiveState, ViewName } from '../../src/lib/api/types';
import { Model, SCENARIOS } from '../fixtures/model';
import { comparison } from '../fixtures/compare';
import { sideBySide } from '../fixtures/trend';
import { STUDY } from '../fixtures/study';

/** A running run begins when the server does. */
const began = Date.now();
const models = new Map<string, Model>();

function modelOf(id: string): Model | null {
  const scenario = SCENARIOS.find((one) => one.id === id);
  if (!scenario) return null;
  if (scenario.state === 'running') return new Model(scenario, 40 + Math.floor((Date.now() - began) / 1000) % 130);
  const known = models.get(id) ?? new Model(scenario);
  models.set(id, known);
  return known;
}

function liveOf(model: Model): LiveState {
  const last = model.spans.at(-1);
  const seconds = Math.round(model.end / 1e9);
  return {
    version: seconds, phase: last?.phase === 'ramp-down' ? 'judging' : (last?.phase ?? 'preparing'), tiles: last?.tiles ?? 0, elapsed_ns: model.end, left_ns: 20e9, run_left: 'about 2 min left', prepared: null,
    headline: `Held so far: ${Math.max(0, (last?.tiles ?? 1) - 1)} tiles. Trying ${last?.tiles ?? 0}, about 2 min left.`,
    sentence: `Mixed workload, ${last?.tiles ?? 0} tiles, running ${seconds} s of 180 s. 2,540 IOPS, p99 read 0.9 ms.`,
    operations_per_s: 2540, calls_per_s: null, bytes_per_s: 3.6e7, p99_ns: 9e5, hosts: [], lost_slices: 0,
    limits: [
      { name: 'shop order p95', measured_ns: 1.2e8, limit_ns: 1e8, share: 1.2 },
      { name: 'mail send p95', measured_ns: 4e7, limit_ns: 1e8, share: 0.4 },
      { name: 'web page p95', measured_ns: null, limit_ns: 2e8, share: null },
    ],
    doubts: ['Disturbed now by: other processes used 38 % of the processors (limit 10 %), most of it cc.'],
  };
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.statusCode = status;
  response.setHeader('content-type', status >= 400 ? 'application/problem+json' : 'application/json');
  response.end(JSON.stringify(value));
}

const missing = (response: ServerResponse, what: string): void =>
  json(response, { type: 'about:blank', title: 'not found', detail: `there is no ${what}`, status: 404 }, 404);

function live(response: ServerResponse, id: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = (): void => {
    const model = modelOf(id);
    if (model) response.write(`event: state\ndata: ${JSON.stringify(liveOf(model))}\n\n`);
  };
  send();
  const timer = setInterval(send, 1000);
  response.on('close', () => clearInterval(timer));
}

/** What the program sends with everything: the page has to live with it. */
const POLICY =
  "default-src 'self'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; " +
  "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function handle(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  if (process.env['TILEMARK_POLICY'] !== 'none') response.setHeader('content-security-policy', POLICY);
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (url.pathname === '/healthz') {
    json(response, { status: 'ok' });
    return;
  }
  if (!url.pathname.startsWith('/api/v1/')) {
    next();
    return;
  }
  const [kind, id, view] = url.pathname.slice('/api/v1/'.length).split('/').map(decodeURIComponent);
  if (kind === 'runs' && !id) {
    json(response, { base: '/runs', runs: SCENARIOS.map(({ id }) => modelOf(id)?.row()) });
    return;
  }
  if (kind === 'compare') {
    const [a, b] = [modelOf(url.searchParams.get('a') ?? ''), modelOf(url.searchParams.get('b') ?? '')];
    if (a && b) json(response, comparison(a, b));
    else missing(response, 'such run');
    return;
  }
  if (kind === 'trend') {
    const models = url.searchParams.getAll('run').map(modelOf);
    if (models.every((model) => model !== null)) json(response, sideBySide(models));
    else missing(response, 'such run');
    return;
  }
  if (kind === 'studies') {
    if (!id) json(response, { studies: [STUDY.row] });
    else if (id === STUDY.row.name) json(response, STUDY);
    else missing(response, `study ${id}`);
    return;
  }
  const model = kind === 'runs' ? modelOf(id ?? '') : null;
  if (!model) missing(response, `run ${id}`);
  else if (!view) json(response, model.page(model.scenario.state === 'running' ? liveOf(model) : null));
  else if (view === 'live') live(response, id ?? '');
  else if (view === 'events') json(response, []);
  else json(response, model.answer(view as ViewName, url.search.slice(1)));
}

export function mockApi(): Plugin {
  const isWanted = !process.env['TILEMARK_API'];
  return {
    name: 'tilemark-mock',
    configureServer: (server) => {
      // The development server writes styles into the page.
      process.env['TILEMARK_POLICY'] = 'none';
      if (isWanted) server.middlewares.use(handle);
    },
    configurePreviewServer: (server) => void (isWanted && server.middlewares.use(handle)),
  };
}
