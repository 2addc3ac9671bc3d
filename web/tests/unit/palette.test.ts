import { interpolateCividis } from 'd3-scale-chromatic';
import { describe, expect, it } from 'vitest';
import { styleOfMany } from '../../src/lib/chart/lines';
import { cividis, contrast, DARK, inkOn, LIGHT, luminance, ramp } from '../../src/lib/palette';

it('cividis is that of d3', () => {
  for (let part = -0.1; part < 1.1; part += 0.003) expect(cividis(part)).toBe(interpolateCividis(part));
});

it('32 names in one chart differ by colour or dash', () => {
  const styles = Array.from({ length: 32 }, (_, position) => JSON.stringify(styleOfMany(position, LIGHT)));
  expect(new Set(styles).size).toBe(32);
});

describe.each([LIGHT, DARK])('$name', (theme) => {
  // WCAG 2.2: 1.4.11 asks 3 : 1 of marks, 1.4.3 asks 4.5 : 1 of text.
  it.each(Object.entries(theme.kinds))('%s is seen on the ground', (_kind, colour) => {
    expect(contrast(colour, theme.ground)).toBeGreaterThanOrEqual(3);
  });
  it.each(theme.classes.map((colour, position) => [position, colour] as const))('class %i is seen on the ground', (_position, colour) => {
    expect(contrast(colour, theme.ground)).toBeGreaterThanOrEqual(3);
  });
  it.each(theme.many)('%s is seen on the ground', (colour) => {
    expect(contrast(colour, theme.ground)).toBeGreaterThanOrEqual(3);
  });
  it('borders are seen on the ground and on panels', () => {
    expect(contrast(theme.border, theme.ground)).toBeGreaterThanOrEqual(3);
    expect(contrast(theme.border, theme.panel)).toBeGreaterThanOrEqual(3);
  });
  it.each(['ink', 'soft', 'link', 'good', 'bad'] as const)('%s reads as text', (name) => {
    expect(contrast(theme[name], theme.ground)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(theme[name], theme.panel)).toBeGreaterThanOrEqual(4.5);
  });
  it('warnings read as text', () => {
    expect(contrast(theme.kinds.warning, theme.ground)).toBeGreaterThanOrEqual(theme.name === 'light' ? 4.5 : 4.5);
  });
  it('classes of sizes grow lighter in grey too', () => {
    const lights = theme.classes.map(luminance);
    expect([...lights].sort((a, b) => a - b)).toEqual(lights);
  });
  it('few I/Os are seen beside none', () => {
    const few = ramp(theme).slice(4, 7);
    expect(contrast(`rgb(${few.join(', ')})`, theme.panel)).toBeGreaterThanOrEqual(1.2);
  });
  it('text on any class reads', () => {
    for (const colour of theme.classes) expect(contrast(inkOn(colour), colour)).toBeGreaterThanOrEqual(4.5);
  });
});
