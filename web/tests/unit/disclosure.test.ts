import { describe, expect, it } from 'vitest';
import type { Run, Step } from '../../src/lib/api/types';
import { checksText, costOfOperations, errorsOf, generatorText, intervalText, leaves, numbersOf, operationsOf, pooledVerdicts, scoreOf, tileVerdicts, wattsOf } from '../../src/lib/ui/disclosure';
import { Model, SCENARIOS } from '../fixtures/model';

const scenario = SCENARIOS.find(({ id }) => id === 'ladder-10');
if (!scenario) throw new Error('there is no ladder');
const page = new Model(scenario).page(null);
const run = page.run as Run;

describe('what stands behind the numbers', () => {
  it('is every leaf of a document', () => {
    expect(leaves({ a: { b: 1, c: null }, d: ['x', 'y'], e: [], f: [{ g: true }] })).toEqual([['a.b', '1'], ['d', 'x, y'], ['f.0.g', 'true']]);
  });
  it('has every verdict, of all tiles together and of each', () => {
    expect(pooledVerdicts(run)).toHaveLength(10);
    expect(tileVerdicts(run).rows).toHaveLength(55);
    expect(tileVerdicts(run).rows.at(-1)?.slice(0, 4)).toEqual([10, 1, 10, 'shop']);
    expect(intervalText(pooledVerdicts(run)[0]?.limit as never)).toBe('36 ms to 45 ms (95 %)');
  });
  it('says what a warning found and what is allowed', () => {
    expect(page.warnings?.map(numbersOf)).toEqual(['Found: /dev/nvme0n1; allowed: another device.', 'Found: range 31 %; allowed: 20 %.']);
    expect(numbersOf({ id: 'reused', place: '', text: '', found: '', allowed: '', hint: null })).toBe('');
  });
  it('has the watts of each meter and why there is no score per kilowatt', () => {
    const step = run.steps[0] as Step;
    const meter = { name: 'plug', scope: 'host', idle_watts: { value: 90.5 } };
    const energy = { meter: 'plug', scope: 'host', joules: { value: null, reason: 'a gap of 9 s' }, mean_watts: { value: null, reason: 'a gap of 9 s' }, most_watts: 120, by: 'trapezoid', samples: 3, gap_max_ns: 9e9 };
    const category = { category: 'server-power', mean_watts: { value: 100 }, score_per_kilowatt: { value: 12.5 } };
    const metered = { ...run, meters: [meter], steps: [{ ...step, power: { meters: [energy], per_kilowatt: [category] } }] } as unknown as Run;
    expect(wattsOf(metered).rows).toEqual([
      [step.tiles, step.repeat, 'plug (host)', 90.5, 'a gap of 9 s', 120, 'a gap of 9 s', null],
      [step.tiles, step.repeat, 'server-power', null, 100, null, null, 12.5],
    ]);
    expect(wattsOf(run).rows).toEqual([]);
  });
  it('has what operations did and what they cost the tiles, or why it is not known', () => {
    const step = run.steps[0] as Step;
    const metric = { value: { value: 240 }, unit: 'moves/h', reference: { value: 360 }, reference_origin: 'ideal-storage', normalised: { value: 2 / 3 } };
    const action = (action: string, count: number, errors: number) => ({ action, count, errors, dropped: 0 });
    const moves = { tile: null, workload: 'move', copy: 0, metric, actions: [action('move', 4, 1), action('move/copying', 5, 0)], limits: [] };
    const none = { value: null, reason: 'too few blocks of time' };
    const under = { share_of_time: 0.62, against_rest: { samples: 900, times: { value: 1.23 }, low: none, high: none } };
    const score = { applications: { value: 1.5 }, infrastructure: { value: 0.5 }, total: { value: 1.3 } };
    const operated = { ...run, steps: [{ ...step, score, workloads: [...step.workloads, moves], under_operations: under }] } as unknown as Run;
    expect(operationsOf(operated).rows).toEqual([[step.tiles, step.repeat, 'move', 240, 'moves/h', 2 / 3, 4, 1]]);
    expect(costOfOperations(operated).rows).toEqual([
      [step.tiles, step.repeat, 1.5, 0.5, 1.3, 0.62, 1.23, 'too few blocks of time', 'too few blocks of time', 900],
    ]);
    expect([...operationsOf(run).rows, ...costOfOperations(run).rows]).toEqual([]);
  });
  it('says why there is no score', () => {
    expect(scoreOf({ ...run, answer: { ...run.answer, score: { value: null, reason: 'nothing held' } } })?.text).toBe('none: nothing held');
    expect(scoreOf(run)?.interval).toBe('no interval');
  });
  it('says whether a step may be believed', () => {
    const step = run.steps[0] as Step;
    expect(generatorText(step)).toBe('kept up, late by 90 us (p99), busiest thread 41 %');
    expect(checksText(step)).toBe('1 of 1 passed');
    const broken = { ...step, checks: step.checks.map((check) => ({ ...check, passed: false })) };
    expect(checksText(broken)).toBe('0 of 1 passed; littles-law: 12.2 instead of 12.1 I/Os in flight');
    expect(checksText({ ...step, checks: [] })).toBe('none');
    expect(errorsOf(step)).toBe(0);
  });
});
