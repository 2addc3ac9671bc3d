import { expect, it } from 'vitest';
import { bytes, changeText, clock, inUnit, latency, share, significant, span } from '../../src/lib/format';

it.each([
  [latency(920_000), '920 us'], [latency(1_100_000), '1.1 ms'], [latency(null), '–'], [latency(2.5e9), '2.5 s'],
  [bytes(1536), '1.5 KiB'], [bytes(4 * 2 ** 30), '4 GiB'], [share(0.714), '71 %'], [share(0.0004), '< 0.1 %'], [share(0.034), '3.4 %'],
  [clock(41e9), '00:41'], [clock(3723e9), '1:02:03'], [clock(52.5e9, 1), '00:52.5'], [clock(59.96e9, 1), '01:00.0'],
  [significant(18_432), '18,400'], [significant(0), '0'], [significant(0.0123), '0.0123'],
  [inUnit(18_400, 'io_per_s'), '18,400 IOPS'], [inUnit(1, 'tiles'), '1 tile'], [span(3.9e12), '1 h 5 min'],
])('%s is %s', (text, expected) => {
  expect(text).toBe(expected);
});

// The same factors as in `crates/base/units/src/print.rs`.
it.each([
  [0, '0 %'], [null, '–'], [0.0004, '+less than 0.1 %'], [0.18, '+18 %'], [-0.031, '−3.1 %'], [2, '+200 %'], [2.4, '3.4x'], [8.96, '10x'],
  [120.649, '122x'], [12_063.9, '12,065x'], [-0.5, '−50 %'], [-0.7, '1/3.3'], [-0.917, '1/12'], [-1, '−100 %'], [-1.5, '−150 %'],
])('a change of %s is written %s', (change, text) => {
  expect(changeText(change)).toBe(text);
});
