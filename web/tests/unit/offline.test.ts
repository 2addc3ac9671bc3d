import { deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { nearest } from '../../src/lib/api/nearest';
import { Offline, unpack, type Packed } from '../../src/lib/api/offline';
import { exactSeeds } from '../../src/lib/api/online';

const known = new Set([
  'overview', 'overview?step=2', 'series', 'series?m=lat', 'series?by=bs', 'series?by=bs&m=lat', 'heatmap', 'moment?at=10', 'moment?at=74', 'curve',
]);

describe('the nearest stored answer', () => {
  it.each([
    ['series?m=lat', 'series?m=lat', []],
    ['series?m=lat&points=1200', 'series?m=lat', ['points']],
    ['series?by=bs&dir=w&m=lat&t=1-2', 'series?by=bs&m=lat', ['t', 'dir']],
    ['series?by=tile&m=lat', 'series?m=lat', ['by']],
    ['overview?step=2&t=3-', 'overview?step=2', ['t']],
    ['overview?step=3', 'overview', ['step']],
  ])('%s is %s', (wanted, found, dropped) => {
    expect(nearest(wanted, known)).toMatchObject({ request: found });
    expect(new Set(nearest(wanted, known)?.dropped)).toEqual(new Set(dropped));
  });

  it('says what differs, but not where only the resolution does', () => {
    expect(nearest('heatmap?points=1800', known)?.note).toBeNull();
    expect(nearest('series?tile=3', known)?.note).toContain('all tiles');
  });

  it('takes the moment nearest in time', () => {
    expect(nearest('moment?at=70', known)).toMatchObject({ request: 'moment?at=74' });
    expect(nearest('moment?at=70', known)?.note).toContain('nearest stored moment');
  });

  it('never answers with another measure or view', () => {
    expect(nearest('series?m=bw', known)).toBeNull();
    expect(nearest('tier', known)).toBeNull();
  });
});

describe('the data of a report', () => {
  const packed = { page: { row: { id: 'x' }, run: { seed: 1 } }, answers: { curve: { sentence: 's' } } } as unknown as Packed;
  it.each([['gzip', gzipSync], ['raw deflate', deflateRawSync]])('is read from %s', async (_name, pack) => {
    const text = pack(Buffer.from(JSON.stringify(packed))).toString('base64');
    expect(await unpack(` ${text}\n`)).toEqual(packed);
  });
  it('answers or says that it cannot', async () => {
    const offline = new Offline(packed);
    expect((await offline.view<'curve'>('x', 'curve')).document.sentence).toBe('s');
    await expect(offline.view('x', 'tier')).rejects.toThrow('does not hold this view');
  });
});

it('keeps seeds that a double cannot hold', () => {
  expect(JSON.parse(exactSeeds('{"seed":18446744073709551615,"a":1}'))).toEqual({ seed: '18446744073709551615', a: 1 });
  expect(JSON.parse(exactSeeds('{"seed":42}'))).toEqual({ seed: 42 });
});
