import { describe, expect, it } from 'vitest';
import type { RunRow, StudyClaim, TierSeries } from '../../src/lib/api/types';
import { destagesAtOnce, dirtySentence, fillSentence, gapSentence, notByDesign, tierRates } from '../../src/lib/chart/tier';
import { choose, compareAddress, findRuns, startedText, stateOf } from '../../src/lib/ui/runs';
import { claimsTable, findClaims, kindsOf, otherSections, outcomeAddition, outcomeLook, pieces, reasonsOf, tally } from '../../src/lib/ui/study';

const run = (id: string, patch: Partial<RunRow> = {}): RunRow => ({
  id, kind: 'measured', state: 'complete', status: 'complete', started: '2026-11-22T06:00:00.123Z', duration_ns: 1, tile: 'datacenter', target: 'nvme0n1',
  sentence: 'Holds 3 tiles.', tiles_held: 3, score: null, size_bytes: 1, spark: [], error: null, ...patch,
});

describe('the list of runs', () => {
  it('finds every word anywhere, and kinds', () => {
    const runs = [run('a'), run('b', { kind: 'simulated', target: 'simulated: an array' })];
    expect(findRuns(runs, 'holds array', '').map(({ id }) => id)).toEqual(['b']);
    expect(findRuns(runs, '', 'measured').map(({ id }) => id)).toEqual(['a']);
    expect(findRuns(runs, 'zoo', '')).toEqual([]);
  });
  it('says how a run is', () => {
    expect(stateOf(run('a', { state: 'running', status: null }))).toBe('running');
    expect(stateOf(run('a', { state: 'abandoned', status: null }))).toBe('abandoned');
    expect(stateOf(run('a', { status: 'inconclusive' }))).toBe('inconclusive');
    expect(stateOf(run('a', { kind: 'recorded' }))).toBe('observed');
    expect(startedText('2026-11-22T06:00:00.123Z')).toBe('2026-11-22 06:00');
    expect(startedText('')).toBe('');
  });
  it('compares two, the older one as the baseline', () => {
    const runs = [run('new', { started: '2026-11-23T00:00:00Z' }), run('old')];
    expect(compareAddress(['new', 'old'], runs)).toBe('/compare?a=old&b=new');
    expect(compareAddress(['new'], runs)).toBeNull();
    expect(choose(['a', 'b'], 'c')).toEqual(['b', 'c']);
    expect(choose(['a', 'b'], 'a')).toEqual(['b']);
  });
});

const claim = (id: string, kind: string, outcome: string): StudyClaim =>
  ({ id, kind, published: '1', ours: '2', tolerance: '5 %', outcome, outcome_text: 'why', text: 'words' });

describe('claims of a study', () => {
  const claims = [claim('A', 'input', 'met'), claim('B', 'predicted', 'met'), claim('C', 'predicted', 'not-met'), claim('D', 'predicted', 'not-measured')];
  it('count by kind what was measured, predicted ones first', () => {
    expect(kindsOf(claims)).toEqual(['predicted', 'input']);
    expect(tally(claims)).toEqual([{ kind: 'predicted', met: 1, all: 2 }, { kind: 'input', met: 1, all: 1 }]);
  });
  it('are found by kind and outcome', () => {
    expect(findClaims(claims, 'predicted', 'not-met').map(({ id }) => id)).toEqual(['C']);
    expect(findClaims(claims, '', '')).toHaveLength(4);
  });
  it('have a word and a mark for each outcome, also for one not known', () => {
    expect(outcomeLook('not-met').word).toBe('Not met');
    expect(outcomeLook('odd').word).toBe('odd');
  });
  it('stand beside the reason why they are not met, which is not told twice', () => {
    const sections = [
      { title: 'Why', paragraphs: ['**C not met.** the disks *hardly* feel it', '**D not measured: no formula.** a rule'], columns: [], rows: [] },
      { title: 'Other', paragraphs: ['words'], columns: [], rows: [] },
    ];
    expect([...reasonsOf(sections)]).toEqual([['C', 'the disks *hardly* feel it'], ['D', 'a rule']]);
    expect(otherSections(sections).map(({ title }) => title)).toEqual(['Other']);
    expect(outcomeAddition({ ...(claims[0] as StudyClaim), outcome_text: 'NO' })).toBe('');
    expect(outcomeAddition({ ...(claims[0] as StudyClaim), outcome_text: 'yes, by the mean' })).toBe('yes, by the mean');
  });
  it('have stressed words, and stars that are none', () => {
    expect(pieces('a **b** *c d* `e`')).toEqual([
      { kind: 'plain', text: 'a ' }, { kind: 'strong', text: 'b' }, { kind: 'plain', text: ' ' }, { kind: 'stress', text: 'c d' },
      { kind: 'plain', text: ' ' }, { kind: 'code', text: 'e' }]);
    expect(pieces('2 * 3 * 4')).toEqual([{ kind: 'plain', text: '2 * 3 * 4' }]);
  });
  it('are a table', () => expect(claimsTable(claims).rows[0]).toEqual(['A', 'words', 'input', '1', '2', '5 %', 'met', 'why']));
});

const tier = (patch: Partial<TierSeries> = {}): TierSeries => ({
  name: 'fast', capacity_bytes: 1000, policy: 'write-back', at_ns: [0, 1e9], width_ns: [1e9, 2e9], reads: [10, 0], read_hits: [4, 0], remote_hits: [1, 0],
  writes: [6, 4], writes_absorbed: [6, 2], filled_bytes: [100, 0], placed_bytes: [200, 400], evicted_bytes: [0, 50], destaged_bytes: [190, 400],
  resident_bytes: [300, 500], dirty_bytes: [10, 200], observed_read_p99_ns: [1e6, null], observed_write_p99_ns: [1e6, 2e6],
  backing_read_p99_ns: [5e6, 6e6], backing_write_p99_ns: [], ...patch,
});

describe('a tier', () => {
  it('has rates and shares out of counts, and no share of nothing', () => {
    const rates = tierRates(tier());
    expect(rates.readShare).toEqual([0.4, null]);
    expect(rates.writeShare).toEqual([1, 0.5]);
    expect(rates.local).toEqual([3, 0]);
    expect(rates.behind).toEqual([6, 0]);
    expect(rates.placed).toEqual([200, 200]);
  });
  it.each([
    ['write-through', [0, 0], 'write-through: not accelerated by design'],
    ['read-only', [0, 0], 'read-only tier: writes are not accelerated by design'],
    ['write-back', [0, 0], null],
    [null, [0, 0], null],
    ['write-through', [1, 0], null],
  ])('with policy %s and writes %j says %j', (policy, writes_absorbed, words) => {
    expect(notByDesign(tier({ policy, writes_absorbed }))).toBe(words);
  });
  it('says what it holds and what had to go', () => {
    expect(fillSentence(tier())).toBe('At the end it holds 500 B of 1,000 B (50 %); from 00:01 on it made room, 50 B in all.');
    expect(fillSentence(tier({ evicted_bytes: [0, 0] }))).toContain('nothing had to go');
    expect(fillSentence(tier({ resident_bytes: [] }))).toBe('There is no course of what it held.');
  });
  it('says what waited', () => {
    expect(dirtySentence(tier())).toContain('200 B');
    expect(dirtySentence(tier({ dirty_bytes: [0, 0] }))).toBe('Nothing ever waited to be written to the backing store.');
  });
  it('knows when writes go on at once', () => {
    expect(destagesAtOnce(tier())).toBe(true);
    expect(destagesAtOnce(tier({ destaged_bytes: [0, 100] }))).toBe(false);
    expect(destagesAtOnce(tier({ policy: 'write-through' }))).toBe(false);
  });
  it('says what is not recorded', () => {
    expect(gapSentence('Writes', [1e6, 2e6], [])).toContain('does not hold the times behind its tier');
    expect(gapSentence('Reads', [1e6, null], [5e6, 6e6])).toBe('Reads: at the end the application sees a p99 of 1 ms, shorter than the 5 ms of what went to the backing store.');
    expect(gapSentence('Reads', [null], [])).toBe('Reads: no time is known.');
  });
});
