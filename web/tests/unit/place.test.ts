import { expect, it } from 'vitest';
import { readPlace, splitAddress } from '../../src/lib/place';

it.each([
  ['/', { page: 'runs' }], ['/run/a%20b', { page: 'run', id: 'a b', view: 'overview' }], ['/run/x/latency', { page: 'run', id: 'x', view: 'latency' }],
  ['/run/x/zoo', { page: 'lost', path: '/run/x/zoo' }], ['/compare', { page: 'compare' }], ['/study/vsan-6', { page: 'study', name: 'vsan-6' }],
])('%s', (path, place) => {
  expect(readPlace(path)).toEqual(place);
});

it('splits at the first question mark', () => {
  expect(splitAddress('/a?b=c?d')).toEqual(['/a', 'b=c?d']);
});
