import { describe, expect, it } from 'vitest';
import type { AccessPage } from '../../src/lib/api/types';
import { curves, senders, tables } from '../../src/lib/chart/access';
import { Model, SCENARIOS } from '../fixtures/model';

const pageOf = (id: string): AccessPage => {
  const scenario = SCENARIOS.find((one) => one.id === id);
  if (!scenario) throw new Error(id);
  return new Model(scenario).answer('access', '') as AccessPage;
};

describe('which bytes a trace uses', () => {
  const doc = pageOf('trace-1');
  it('is told for everybody first, then for each', () => {
    expect(senders(doc)).toEqual(['all', 'shop', 'mail']);
    expect(curves(doc, 'shop').map(({ page, points }) => [page, points.length])).toEqual([[65536, 40], [4096, 40]]);
  });
  it('has tables of one sender, each row as long as its head', () => {
    const found = tables(doc, 'mail');
    expect(found.map(({ title }) => title.split(' (')[0])).toEqual(['Working set', 'What a tier would serve', 'Where I/Os begin within 4 KiB', 'Small I/O']);
    for (const { head, rows } of found) expect(rows.every((row) => row.length === head.length)).toBe(true);
    // A share has its interval, if there is one.
    expect(found[1]?.rows[0]?.slice(0, 3)).toEqual(['128 MiB', '30 %', '40 % (36 % to 44 %)']);
    expect(found[2]?.rows).toContainEqual(['read', '7', '17,808', '80 %']);
  });
  it('has no table and no line for a run', () => {
    const run = pageOf('ladder-10');
    expect([senders(run), curves(run, ''), tables(run, '')]).toEqual([[], [], []]);
  });
});
