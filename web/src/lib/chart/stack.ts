// Parts of a whole over time.

export interface Part {
  key: string;
  label: string;
  colour: string;
  /** Every second one is hatched, so that neighbours part in grey too. */
  isHatched: boolean;
  values: ArrayLike<number | null>;
}

/** Parts with less than this share of everything are one part together: nobody sees them. */
const FOLD_BELOW = 0.01;

/** The same with the parts that are near zero all the time taken together as the last one. */
export function folded(parts: readonly Part[], colour: string): Part[] {
  const sums = parts.map((part) => Array.from(part.values).reduce<number>((sum, value) => sum + (value ?? 0), 0));
  const all = sums.reduce((sum, own) => sum + own, 0);
  const small = parts.filter((_, position) => (sums[position] ?? 0) < FOLD_BELOW * all);
  if (small.length < 2) return [...parts];
  const values = Array.from({ length: small[0]?.values.length ?? 0 }, (_, column) => small.reduce((sum, part) => sum + (part.values[column] ?? 0), 0));
  const rest: Part = { key: 'folded', label: `${small.length} others, below 1 %`, colour, isHatched: true, values };
  const large = parts.filter((part) => !small.includes(part));
  return values.some((value) => value > 0) ? [...large, rest] : large;
}

/** Edges of each part in each column, from below: one more list than there are parts. */
export function stacked(parts: readonly Part[], length: number, isShare: boolean): Float64Array[] {
  const edges = Array.from({ length: parts.length + 1 }, () => new Float64Array(length));
  for (let column = 0; column < length; column += 1) {
    const total = isShare ? parts.reduce((sum, part) => sum + (part.values[column] ?? 0), 0) : 1;
    parts.forEach((part, position) => {
      const below = edges[position]?.[column] ?? 0;
      const value = total > 0 ? (part.values[column] ?? 0) / total : 0;
      (edges[position + 1] as Float64Array)[column] = below + value;
    });
  }
  return edges;
}

/**
 * The outline of one part as columns: along the upper edge from left to right, back along the
 * lower one. `x` and `y` turn time and height into pixels.
 */
export function outline(
  at: ArrayLike<number>,
  widths: ArrayLike<number>,
  lower: Float64Array,
  upper: Float64Array,
  x: (ns: number) => number,
  y: (value: number) => number,
  window: readonly [number, number],
): string {
  let there = '';
  let back = '';
  for (let column = 0; column < at.length; column += 1) {
    const begin = at[column] ?? 0;
    const end = begin + (widths[column] ?? 0);
    if (end <= window[0] || begin >= window[1]) continue;
    const [a, b] = [x(Math.max(begin, window[0])), x(Math.min(end, window[1]))];
    there += `${there ? 'L' : 'M'}${a.toFixed(1)} ${y(upper[column] ?? 0).toFixed(1)}H${b.toFixed(1)}`;
    back = `L${b.toFixed(1)} ${y(lower[column] ?? 0).toFixed(1)}H${a.toFixed(1)}${back}`;
  }
  return there ? `${there}${back}Z` : '';
}
