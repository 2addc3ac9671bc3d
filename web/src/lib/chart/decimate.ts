// Fewer points than there are numbers, without losing what stands out.

/** Position of the first entry that is not below `value`; `list` ascends. */
export function lowerBound(list: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] ?? Infinity) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** An empty list stands for gaps all along. */
type Values = ArrayLike<number | null>;

export interface Columns {
  at: number[];
  /** As many lists as came in. */
  lists: (number | null)[][];
}

/**
 * Least and most of each column of pixels, in the order in which they came: a line through them
 * covers the same pixels as a line through all. Lists that already fit are only cut to the
 * window, with one entry beyond each end.
 */
export function extremes(
  at: ArrayLike<number>,
  lists: readonly Values[],
  from: number,
  to: number,
  columns: number,
): Columns {
  const first = Math.max(0, lowerBound(at, from) - 1);
  const last = Math.min(at.length, lowerBound(at, to) + 1);
  if (last - first <= columns * 2) return cut(at, lists, first, last);
  const perNs = columns / (to - from);
  const found: Columns = { at: [], lists: lists.map(() => []) };
  let begin = first;
  while (begin < last) {
    const column = Math.floor(((at[begin] as number) - from) * perNs);
    const edge = from + (column + 1) / perNs;
    let end = begin + 1;
    while (end < last && (at[end] as number) < edge) end += 1;
    found.at.push(at[begin] as number, at[end - 1] as number);
    lists.forEach((values, position) => found.lists[position]?.push(...pair(values, begin, end)));
    begin = end;
  }
  return found;
}

function cut(at: ArrayLike<number>, lists: readonly Values[], first: number, last: number): Columns {
  const part = <T>(list: ArrayLike<T>): T[] => Array.prototype.slice.call(list, first, last) as T[];
  const nothing = new Array<null>(last - first).fill(null);
  return { at: part(at), lists: lists.map((values) => (values.length ? part(values) : nothing)) };
}

/** The least and the most of a part, in their order. */
function pair(values: Values, begin: number, end: number): [number | null, number | null] {
  if (values.length === 0) return [null, null];
  let low = -1;
  let high = -1;
  let least = Infinity;
  let most = -Infinity;
  for (let position = begin; position < end; position += 1) {
    const value = values[position];
    if (value === null || value === undefined) continue;
    if (value < least) {
      least = value;
      low = position;
    }
    if (value > most) {
      most = value;
      high = position;
    }
  }
  if (low < 0) return [null, null];
  const [one, two] = low < high ? [low, high] : [high, low];
  return [values[one] as number, values[two] as number];
}

/** The entry whose time holds `at`: the last that begins at or before it. */
export function indexAt(list: ArrayLike<number>, at: number): number {
  const found = lowerBound(list, at);
  return Math.max(0, Math.min(list.length - 1, list[found] === at ? found : found - 1));
}
