import { describe, expect, it } from 'vitest';
import { canonical, readLens, readSeconds, requestPath, USUAL, writeLens, writeSeconds } from '../../src/lib/lens/lens';

const lens = (query: string) => readLens(new URLSearchParams(query));

describe('the lens in the address', () => {
  it.each([
    '', 'by=bs', 'at=52.5&m=lat', 'bs=64k,128k&dir=w&t=40-75', 'sel=r4k,w64k&by=sel', 't=1.5-', 'step=3&tile=3,4&wl=shop,web', 's=p50',
  ])('reads back what it wrote: %s', (query) => {
    const read = lens(query);
    expect(lens(writeLens(read))).toEqual(read);
  });

  it('leaves no trace of usual values and ignores what it does not know', () => {
    expect(writeLens(lens('m=iops&by=rw&s=p99&zoo=1&dir=x&bs=5k&t=9-3'))).toBe('');
    expect(lens('m=zoo')).toEqual(USUAL);
  });

  it('takes repeated keys as a list', () => {
    expect(lens('tile=4&tile=3').tile).toEqual([3, 4]);
  });

  it('keeps names with odd letters', () => {
    const read = lens(writeLens({ ...USUAL, wl: ['a&b', 'ü 1'] }));
    expect(read.wl).toEqual(['a&b', 'ü 1']);
  });

  it.each([['52.010', 52010, '52.01'], ['0', 0, '0'], ['7.5', 7500, '7.5']])('keeps milliseconds: %s', (text, ms, back) => {
    expect(readSeconds(text)).toBe(ms);
    expect(writeSeconds(ms)).toBe(back);
  });

  it.each(['-1', 'abc', '1.2345', ''])('refuses a time that is none: %s', (text) => {
    expect(readSeconds(text)).toBeNull();
  });
});

// The same examples as the tests of crates/face/view/src/request.rs.
describe('the canonical request', () => {
  it('has its keys in order and none with its usual value', () => {
    expect(canonical('series', lens('m=lat&by=rw&bs=256k,64k&dir=w'), { points: 600 })).toBe('series?bs=64k,256k&dir=w&m=lat');
    expect(canonical('overview', lens('m=lat&zoo=1'))).toBe('overview');
  });
  it('keeps milliseconds and open ends', () => {
    expect(canonical('heatmap', lens('t=1.5-'), { rows: 60 })).toBe('heatmap?rows=60&t=1.5-');
    expect(canonical('moment', lens('at=52.010'))).toBe('moment?at=52.01');
  });
  it('keeps direction and class together', () => {
    expect(canonical('series', lens('sel=w64k,r4k,w4k&by=sel'))).toBe('series?by=sel&sel=r4k,w4k,w64k');
  });
  it('is escaped only on its way', () => {
    expect(requestPath('map?wl=a b,c')).toBe('map?wl=a%20b,c');
    expect(requestPath('curve')).toBe('curve');
  });
});
