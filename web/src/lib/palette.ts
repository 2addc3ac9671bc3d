// Colours. One meaning each: hue is the kind of I/O, dash the direction, the lightness of
// cividis the class of sizes. The hues are those of Okabe and Ito's set for colour-vision
// deficiency, made lighter or darker per theme until each reaches 3 : 1 against its ground
// (WCAG 2.2, 1.4.11); `tests/unit/palette.test.ts` computes it.

export type Kind = 'read' | 'write' | 'accelerated' | 'remote' | 'backing' | 'observed' | 'warning';

export interface Colours {
  readonly name: 'light' | 'dark';
  readonly ground: string;
  readonly panel: string;
  readonly ink: string;
  readonly soft: string;
  readonly grid: string;
  readonly border: string;
  readonly focus: string;
  readonly link: string;
  readonly good: string;
  readonly bad: string;
  readonly kinds: Readonly<Record<Kind, string>>;
  /** Eight classes of sizes, small first. */
  readonly classes: readonly string[];
  /** Up to eight tiles, workloads or VMs. */
  readonly many: readonly string[];
}

/** Channels of cividis as polynomials, constants first. The coefficients are those of d3-scale-chromatic
 * (ISC, M. Bostock), whose whole set of scales is 6 kB of the page; a test holds both equal. */
const CIVIDIS = [
  [-4.54, -35.34, 2381.73, -6402.7, 7024.72, -2710.57],
  [32.49, 170.73, 52.82, -131.46, 176.58, -67.37],
  [81.24, 442.36, -2482.43, 6167.24, -6614.94, 2475.67],
] as const;

/** Cividis from dark, 0, to light, 1 (Nuñez, Anderton and Renslow, PLOS ONE 2018). */
export function cividis(part: number): string {
  const at = Math.max(0, Math.min(1, part));
  const channel = (terms: readonly number[]): number =>
    Math.max(0, Math.min(255, Math.round(terms.reduceRight((sum, term) => sum * at + term, 0))));
  return `rgb(${CIVIDIS.map(channel).join(', ')})`;
}

/** Part of cividis that is visible on the ground. */
const classes = (from: number, to: number): string[] =>
  Array.from({ length: 8 }, (_, position) => cividis(from + ((to - from) * position) / 7));

export const LIGHT: Colours = {
  name: 'light',
  ground: '#ffffff',
  panel: '#f4f5f7',
  ink: '#15181d',
  soft: '#4d5560',
  grid: '#dfe2e7',
  border: '#7d8591',
  focus: '#0b57d0',
  link: '#0a58a8',
  good: '#00694b',
  bad: '#a83c00',
  kinds: {
    read: '#0072b2',
    write: '#d55e00',
    accelerated: '#008a63',
    remote: '#2b8ac0',
    backing: '#b0568b',
    observed: '#15181d',
    warning: '#a06a00',
  },
  classes: classes(0, 0.6),
  many: ['#0072b2', '#d55e00', '#008a63', '#b0568b', '#7a6a00', '#5a4fb0', '#2b8ac0', '#5d6673'],
};

export const DARK: Colours = {
  name: 'dark',
  ground: '#14171c',
  panel: '#1d2127',
  ink: '#eceef1',
  soft: '#aab2bd',
  grid: '#31363e',
  border: '#7d8591',
  focus: '#8ab8ff',
  link: '#8ec5f5',
  good: '#4fd0a5',
  bad: '#ff9a5c',
  kinds: {
    read: '#3f9fdc',
    write: '#f07f2e',
    accelerated: '#1fb388',
    remote: '#8fd3f7',
    backing: '#d88db8',
    observed: '#eceef1',
    warning: '#e8a92c',
  },
  classes: classes(0.4, 1),
  many: ['#3f9fdc', '#f07f2e', '#1fb388', '#d88db8', '#d0c04a', '#a79df0', '#8fd3f7', '#a7afb9'],
};

type Rgb = readonly [number, number, number];

/** Red, green and blue, 0 to 255, of `#rrggbb` or `rgb(r, g, b)`. */
export function rgb(colour: string): Rgb {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  if (hex) return [1, 2, 3].map((part) => Number.parseInt(hex[part] ?? '0', 16)) as unknown as Rgb;
  const numbers = colour.match(/\d+/g)?.map(Number) ?? [];
  return [numbers[0] ?? 0, numbers[1] ?? 0, numbers[2] ?? 0];
}

/** Relative luminance, WCAG 2.2 (definition "relative luminance"), 0 to 1. */
export function luminance(colour: string): number {
  const [r, g, b] = rgb(colour).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast of two colours, WCAG 2.2, 1 to 21. */
export function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** Black or white, whichever reads better on the colour. */
export function inkOn(colour: string): string {
  return contrast(colour, '#000000') >= contrast(colour, '#ffffff') ? '#000000' : '#ffffff';
}

/** The cividis of counts from few to most, 256 colours as bytes; few must still be seen. */
export function ramp(theme: Colours): Uint8Array {
  const table = new Uint8Array(256 * 4);
  for (let position = 0; position < 256; position += 1) {
    const part = position / 255;
    // On white the light end is few I/Os, on black the dark end is, so that empty stays empty.
    const value = theme.name === 'dark' ? 0.12 + part * 0.88 : 0.94 - part * 0.94;
    table.set([...rgb(cividis(value)), 255], position * 4);
  }
  return table;
}

/** A colour of the diverging scale: -1 blue, 0 neutral, 1 orange. */
export function diverging(value: number, theme: Colours): string {
  const end = rgb(value < 0 ? theme.kinds.read : theme.kinds.write);
  const zero = rgb(theme.panel);
  const part = Math.min(1, Math.abs(value));
  const mixed = end.map((channel, position) =>
    Math.round((zero[position] ?? 0) + (channel - (zero[position] ?? 0)) * part),
  );
  return `rgb(${mixed.join(', ')})`;
}

/** Dashes by direction: reads solid, writes dashed. */
export const dashOf = (direction: string): number[] =>
  direction === 'w' || direction === 'write' ? [7, 4] : [];
