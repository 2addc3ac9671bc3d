import { describe, expect, it } from 'vitest';
import type { RunRow, StudyClaim, TierSeries } from '../../src/lib/api/types';
import { gapSentence, notByDesign } from '../../src/lib/chart/tier';
import { besideAddress, choose, compareAddress, countedRows, findRuns, oldestRun, startedText, stateOf } from '../../src/lib/ui/runs';
import { claimsTable, findClaims, kindsOf, outcomeLook, pieces } from '../../src/lib/ui/study';

const run = (id: string, patch: Partial<RunRow> = {}): RunRow => ({
  id, kind: 'measured', state: 'complete', status: 'complete', started: '2026-11-22T06:00:00.123Z', duration_ns: 1, tile: 'datacenter', target: 'nvme0n1',
  sentence: 'Holds 3 tiles.', tiles_held: 3, tiles: '3 tiles', profile: 'quick', scale: 'disks 1/512', disturbed_steps: 0, score: null, size_bytes: 1, spark: [], error: null, ...patch,
});

describe('the list of runs', () => {
  it('finds every word anywhere, and kinds', () => {
    const runs = [run('a'), run('b', { kind: 'simulated', target: 'simulated: an array' })];
    expect(findRuns(runs, 'holds array', '').map(({ id }) => id)).toEqual(['b']);
    expect(findRuns(runs, '', 'measured').map(({ id }) => id)).toEqual(['a']);
    expect(findRuns(runs, 'zoo', '')).toEqual([]);
  });
  it('tells traces from runs, and would have only a run removed', () => {
    const runs = [run('new'), run('old'), run('trace', { kind: 'recorded' })];
    expect(countedRows(runs)).toBe('2 runs and 1 trace');
    expect([countedRows(runs.slice(0, 1)), countedRows(runs.slice(2)), countedRows([])]).toEqual(['1 run', '1 trace', '0 runs']);
    expect(oldestRun(runs)?.id).toBe('old');
    expect(oldestRun(runs.slice(2))).toBeNull();
  });
  it('says how a run is', () => {
    expect(stateOf(run('a', { state: 'running', status: null }))).toBe('running');
    expect(stateOf(run('a', { state: 'abandoned', status: null }))).toBe('abandoned');
    expect(stateOf(run('a', { status: 'inconclusive' }))).toBe('inconclusive');
    expect(stateOf(run('a', { kind: 'recorded' }))).toBe('observed');
    expect(stateOf(run('a', { kind: 'recorded', status: null }))).toBe('observed');
    expect(startedText('2026-11-22T06:00:00.123Z')).toBe('2026-11-22 06:00');
    expect(startedText('')).toBe('not known');
  });
  it('compares two, the older one as the baseline', () => {
    const runs = [run('new', { started: '2026-11-23T00:00:00Z' }), run('old')];
    expect(compareAddress(['new', 'old'], runs)).toBe('/compare?a=old&b=new');
    expect(compareAddress(['new'], runs)).toBeNull();
    expect(compareAddress(['new', 'old', 'other'], runs)).toBeNull();
    expect(choose(['a', 'b'], 'c')).toEqual(['a', 'b', 'c']);
    expect(choose(['a', 'b'], 'a')).toEqual(['b']);
    const many = Array.from({ length: 24 }, (_, at) => `run ${at}`);
    expect(choose(many, 'more')).toEqual([...many.slice(1), 'more']);
  });
  it('puts several side by side, without what was only observed or still runs', () => {
    const runs = [run('a'), run('b'), run('c'), run('trace', { kind: 'recorded' }), run('now', { state: 'running' })];
    expect(besideAddress(['c', 'a', 'b'], runs)).toBe('/trend?runs=a,b,c');
    expect(besideAddress(['a', 'trace', 'now'], runs)).toBeNull();
  });
});

const claim = (id: string, kind: string, outcome: string): StudyClaim =>
  ({ id, kind, published: '1', ours: '2', tolerance: '5 %', outcome, outcome_text: 'why', is_by_mean: false, why: null, text: 'words' });

describe('claims of a study', () => {
  const claims = [claim('A', 'input', 'met'), claim('B', 'predicted', 'met'), claim('C', 'predicted', 'not-met'), claim('D', 'predicted', 'not-measured')];
  it('have kinds, predicted ones first', () => {
    expect(kindsOf(claims)).toEqual(['predicted', 'input']);
  });
  it('are found by kind and outcome', () => {
    expect(findClaims(claims, 'predicted', 'not-met').map(({ id }) => id)).toEqual(['C']);
    expect(findClaims(claims, '', '')).toHaveLength(4);
  });
  it('have a word and a mark for each outcome, also for one not known', () => {
    expect(outcomeLook('not-met').word).toBe('Not met');
    expect(outcomeLook('odd').word).toBe('odd');
  });
  it('have stressed words, and stars that are none', () => {
    expect(pieces('a **b** *c d* `e`')).toEqual([
      { kind: 'plain', text: 'a ' }, { kind: 'strong', text: 'b' }, { kind: 'plain', text: ' ' }, { kind: 'stress', text: 'c d' },
      { kind: 'plain', text: ' ' }, { kind: 'code', text: 'e' }]);
    expect(pieces('2 * 3 * 4')).toEqual([{ kind: 'plain', text: '2 * 3 * 4' }]);
  });
  it('are a table', () => expect(claimsTable(claims).rows[0]).toEqual(['A', 'words', 'input', '1', '2', '5 %', 'met', 'why']));
});

const tier = (patch: Partial<TierSeries> = {}): TierSeries => ({ policy: 'write-back', writes_absorbed: [6, 2], ...patch }) as TierSeries;

describe('a tier', () => {
  it.each([
    ['write-through', [0, 0], 'write-through: not accelerated by design'],
    ['read-only', [0, 0], 'read-only tier: writes are not accelerated by design'],
    ['write-back', [0, 0], null],
    [null, [0, 0], null],
    ['write-through', [1, 0], null],
  ])('with policy %s and writes %j says %j', (policy, writes_absorbed, words) => {
    expect(notByDesign(tier({ policy: policy as TierSeries['policy'], writes_absorbed }))).toBe(words);
  });
  it('says what is not recorded', () => {
    expect(gapSentence('Writes', [1e6, 2e6], [])).toContain('does not hold the times behind its tier');
    expect(gapSentence('Reads', [1e6, null], [5e6, 6e6])).toBe('Reads: at the end the application sees a p99 of 1 ms, shorter than the 5 ms of what went to the backing store.');
    expect(gapSentence('Reads', [null], [])).toBe('Reads: no time is known.');
  });
});
