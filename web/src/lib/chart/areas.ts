// Areas over time: parts on top of each other, mirrored ones, and the gap between two lines.

type Values = ArrayLike<number | null>;

export interface Area {
  key: string;
  label: string;
  colour: string;
  /** What tells areas apart once colours are grey. */
  pattern: 'plain' | 'hatch' | 'dots';
  lower: Values;
  upper: Values;
  /** What is read at the cursor; nothing of an area that only shows a gap. */
  values: Values | null;
}

/** Lists on top of each other, away from zero: up with `sign` 1, down with -1. */
export function piles(lists: readonly Values[], sign: 1 | -1 = 1): { lower: number[]; upper: number[] }[] {
  const length = lists[0]?.length ?? 0;
  const base = new Array<number>(length).fill(0);
  return lists.map((values) => {
    const from = [...base];
    for (let column = 0; column < length; column += 1) {
      base[column] = (base[column] ?? 0) + sign * (values[column] ?? 0);
    }
    const to = [...base];
    return sign === 1 ? { lower: from, upper: to } : { lower: to, upper: from };
  });
}

const middle = (at: ArrayLike<number>, widths: ArrayLike<number>, column: number): number =>
  (at[column] ?? 0) + (widths[column] ?? 0) / 2;

/** A line through the middles of points, with gaps where there is nothing. */
export function linePath(
  at: ArrayLike<number>,
  widths: ArrayLike<number>,
  values: Values,
  x: (ns: number) => number,
  y: (value: number) => number,
): string {
  let path = '';
  let isDown = false;
  for (let column = 0; column < at.length; column += 1) {
    const value = values[column];
    if (value === null || value === undefined) {
      isDown = false;
      continue;
    }
    path += `${isDown ? 'L' : 'M'}${x(middle(at, widths, column)).toFixed(1)} ${y(value).toFixed(1)}`;
    isDown = true;
  }
  return path;
}

/** The outline between two lines through the middles of points; one for each stretch without gaps. */
export function areaPath(
  at: ArrayLike<number>,
  widths: ArrayLike<number>,
  lower: Values,
  upper: Values,
  x: (ns: number) => number,
  y: (value: number) => number,
): string {
  let path = '';
  let there: string[] = [];
  let back: string[] = [];
  const close = (): void => {
    if (there.length) path += `M${[...there, ...back.reverse()].join('L')}Z`;
    [there, back] = [[], []];
  };
  for (let column = 0; column < at.length; column += 1) {
    const [low, high] = [lower[column], upper[column]];
    if (low === null || low === undefined || high === null || high === undefined) {
      close();
      continue;
    }
    // A stretch reaches to the edges of its first and last point: one point alone is still an area.
    const px = [x(middle(at, widths, column))];
    if (there.length === 0) px.unshift(x(at[column] ?? 0));
    if ((lower[column + 1] ?? null) === null || (upper[column + 1] ?? null) === null) px.push(x((at[column] ?? 0) + (widths[column] ?? 0)));
    for (const one of px) {
      there.push(`${one.toFixed(1)} ${y(high).toFixed(1)}`);
      back.push(`${one.toFixed(1)} ${y(low).toFixed(1)}`);
    }
  }
  close();
  return path;
}

/** Least and most of lists within a window; null if there is nothing. */
export function extent(
  lists: readonly Values[],
  at: ArrayLike<number>,
  widths: ArrayLike<number>,
  window: readonly [number, number],
): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (let column = 0; column < at.length; column += 1) {
    const begin = at[column] ?? 0;
    if (begin >= window[1] || begin + (widths[column] ?? 0) <= window[0]) continue;
    for (const values of lists) {
      const value = values[column];
      if (value === null || value === undefined) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return low <= high ? [low, high] : null;
}
