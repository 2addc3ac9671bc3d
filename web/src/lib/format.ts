// The one place where numbers become text. Every text has its unit.

/** Units as the documents name them. */
export type Unit =
  | 'ns' | 'io_per_s' | 'call_per_s' | 'bytes_per_s' | 'bytes' | 'count' | 'share' | 'tiles' | 'score'
  | 'seconds' | 'watts' | 'actions_per_s' | 'ratio' | 'text' | 'time';

const ABSENT = '–';

/** Three significant digits, thousands apart: `18,400`, `0.92`. */
export function significant(value: number, digits = 3): string {
  if (value === 0) return '0';
  const size = Math.floor(Math.log10(Math.abs(value)));
  const decimals = Math.max(0, digits - 1 - size);
  const rounded = decimals > 0 ? value : Number(value.toPrecision(Math.max(digits, 1)));
  return rounded.toLocaleString('en-US', {
    minimumFractionDigits: 0,
    maximumFractionDigits: Math.min(decimals, 6),
  });
}

/** A whole number, exact, thousands apart. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

const TIMES: readonly (readonly [number, string])[] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'us'],
  [1, 'ns'],
];

/** A length of time: `0.92 ms`. */
export function latency(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return ABSENT;
  if (ns === 0) return '0 ms';
  const [size, unit] = TIMES.find(([size]) => Math.abs(ns) >= size) ?? [1, 'ns'];
  return `${significant(ns / size)} ${unit}`;
}

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** A number of bytes: `1.5 GiB`. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return ABSENT;
  const power = Math.min(BINARY.length - 1, Math.max(0, Math.floor(Math.log2(Math.abs(value) || 1) / 10)));
  return `${significant(value / 2 ** (10 * power))} ${BINARY[power]}`;
}

/** A share of a whole, 0 to 1: `71 %`. */
export function share(value: number | null | undefined): string {
  if (value === null || value === undefined) return ABSENT;
  const percent = value * 100;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  const decimals = percent !== 0 && Math.abs(percent) < 10 ? 1 : 0;
  return `${percent.toLocaleString('en-US', { maximumFractionDigits: decimals })} %`;
}

/** Beyond this factor, up or down, a change is told as a factor. */
const FACTOR_FROM = 3;

/** One decimal below ten, none from there. */
const factor = (ratio: number): string => ratio.toLocaleString('en-US', { maximumFractionDigits: ratio < 9.95 ? 1 : 0 });

/**
 * A relative change: `+18 %`, `−3.1 %`; more than three times as much `121x`, less than a third `1/12`. What fell
 * to nothing is a percentage, as no factor says it. The twin of `change` in `crates/base/units/src/print.rs`.
 */
export function changeText(change: number | null): string {
  if (change === null) return ABSENT;
  if (change === 0) return '0 %';
  const ratio = 1 + change;
  if (ratio > FACTOR_FROM) return `${factor(ratio)}x`;
  if (ratio > 0 && 1 / ratio > FACTOR_FROM) return `1/${factor(1 / ratio)}`;
  return `${change > 0 ? '+' : '−'}${share(Math.abs(change)).replace('< ', 'less than ')}`;
}

/** When the axis began, milliseconds since 1970, if positions are dates: where a host is watched. */
let origin: number | null = null;

/** Says when the axis began; null where positions are time under load. */
export function setOrigin(ms: number | null): void {
  origin = ms;
}

/** When the axis began, nanoseconds since 1970. */
export const originNs = (): number => (origin ?? 0) * 1e6;

/** True if positions are dates. */
export const hasDates = (): boolean => origin !== null;

/** A date (UTC) on the axis: `2026-11-24 14:05:10`. */
function date(ns: number, from: number): string {
  return new Date(from + ns / 1e6).toISOString().slice(0, 19).replace('T', ' ');
}

/** A date as short as the distance of ticks allows: `14:05:10`, `14:05`, or `11-24` at midnight. */
export function shortDate(ns: number, stepNs: number): string {
  const text = date(ns, origin ?? 0);
  if (text.endsWith('00:00:00')) return text.slice(5, 10);
  return stepNs < 60e9 ? text.slice(11) : text.slice(11, 16);
}

/** Position of a date on the axis, or of a time under load (`1:02:03`); null if it is neither. */
export function readClock(text: string): number | null {
  const trimmed = text.trim();
  if (origin !== null) {
    const ms = Date.parse(`${trimmed.replace(' ', 'T')}${trimmed.includes(':') ? '' : 'T00:00'}Z`);
    return Number.isNaN(ms) ? null : (ms - origin) * 1e6;
  }
  const parts = trimmed.split(':').map(Number);
  if (!trimmed || parts.some((part) => !Number.isFinite(part) || part < 0)) return null;
  return parts.reduce((sum, part) => sum * 60 + part, 0) * 1e9;
}

/**
 * A position on the run's axis: `00:41`, `1:02:03`, with milliseconds where the axis is short; a date
 * where a host is watched.
 */
export function clock(ns: number | null | undefined, decimals = 0): string {
  if (ns === null || ns === undefined) return ABSENT;
  return origin === null ? elapsed(ns, decimals) : date(ns, origin);
}

/** A length of time: `00:41`, `1:02:03`. */
export function elapsed(ns: number, decimals = 0): string {
  const scale = 10 ** decimals;
  const parts = Math.round((ns / 1e9) * scale);
  const seconds = Math.floor(parts / scale);
  const rest = decimals ? `.${String(parts % scale).padStart(decimals, '0')}` : '';
  const two = (value: number): string => String(value).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const tail = `${two(seconds % 60)}${rest}`;
  return hours ? `${hours}:${two(minutes)}:${tail}` : `${two(minutes)}:${tail}`;
}

/** How long something takes, in words: `1 h 5 min`, `41 s`. */
export function span(ns: number): string {
  const seconds = Math.round(ns / 1e9);
  if (seconds < 1) return latency(ns);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes / 60} h`;
}

/** A sentence whose numbers stay with their units at the end of a line. */
export const unbroken = (text: string): string =>
  text.replace(/(\d) (%|s|ms|us|ns|h|min|IOPS|B|[KMGTP]iB|[kMGTP]B|tiles?|VMs?|I\/Os?)(?![\w])/g, '$1\u00a0$2');

/** One item or several: `1 tile`, `3 tiles`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${whole(value)} ${value === 1 ? one : many}`;
}

/** A value in its unit. */
export function inUnit(value: number | string | null | undefined, unit: Unit | string): string {
  if (value === null || value === undefined) return ABSENT;
  if (typeof value === 'string') return value;
  switch (unit) {
    case 'ns':
      return latency(value);
    case 'io_per_s':
      return `${significant(value)} IOPS`;
    case 'call_per_s':
      return `${significant(value)} calls/s`;
    case 'bytes_per_s':
      return `${bytes(value)}/s`;
    case 'bytes':
      return bytes(value);
    case 'share':
      return share(value);
    case 'time':
      return clock(value);
    case 'tiles':
      return counted(value, 'tile');
    case 'actions_per_s':
      return `${significant(value)} actions/s`;
    case 'seconds':
      return `${significant(value)} s`;
    case 'watts':
      return `${significant(value)} W`;
    case 'count':
      return whole(value);
    case 'ratio':
      return `${significant(value)} ×`;
    default:
      return significant(value);
  }
}

/** How a unit is called on an axis. */
export function unitName(unit: Unit | string): string {
  const names: Record<string, string> = {
    ns: 'time', io_per_s: 'IOPS', call_per_s: 'calls/s', bytes_per_s: 'bytes/s', bytes: 'bytes', share: '%',
    time: 'mm:ss under load', actions_per_s: 'actions/s', seconds: 's', count: 'I/Os', ratio: '×',
  };
  return names[unit] ?? unit;
}

/** The name of a class of sizes for people. */
export const CLASS_NAMES = [
  '< 4 KiB', '4 KiB', '8 KiB', '16 KiB', '32 KiB', '64 KiB', '128 KiB', '≥ 256 KiB',
] as const;

/** The whole range of a class of sizes. */
export const CLASS_RANGES = [
  'below 4 KiB', '4 to below 8 KiB', '8 to below 16 KiB', '16 to below 32 KiB',
  '32 to below 64 KiB', '64 to below 128 KiB', '128 to below 256 KiB', '256 KiB and above',
] as const;

export const directionName = (direction: string): string =>
  direction === 'r' || direction === 'read' ? 'reads' : 'writes';

/** A key of a file in words: `measure.slice_ns` is `measure: slice`; its value carries the unit. */
export const keyWords = (key: string): string =>
  key.replace(/[_-](ns|bytes)$/, '').replace(/\.(?=[^.])/g, ': ').replace(/[_-]/g, ' ');
