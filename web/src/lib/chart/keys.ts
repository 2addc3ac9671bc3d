// What keys do on a focused chart.

export type ChartAction =
  | { do: 'move'; by: number }
  | { do: 'row'; by: number }
  | { do: 'first' }
  | { do: 'last' }
  | { do: 'enter' }
  | { do: 'escape' }
  | { do: 'zoom'; in: boolean }
  | { do: 'brush' }
  | { do: 'table' }
  | { do: 'copy' };

/** The action of a key; null if it means nothing here. */
export function chartAction(key: string, isShift: boolean): ChartAction | null {
  const by = isShift ? 10 : 1;
  switch (key) {
    case 'ArrowLeft':
      return { do: 'move', by: -by };
    case 'ArrowRight':
      return { do: 'move', by };
    case 'ArrowUp':
      return { do: 'row', by: 1 };
    case 'ArrowDown':
      return { do: 'row', by: -1 };
    case 'Home':
      return { do: 'first' };
    case 'End':
      return { do: 'last' };
    case 'Enter':
      return { do: 'enter' };
    case 'Escape':
      return { do: 'escape' };
    case '+':
    case '=':
      return { do: 'zoom', in: true };
    case '-':
      return { do: 'zoom', in: false };
    case 'b':
      return { do: 'brush' };
    case 't':
      return { do: 'table' };
    case 'c':
      return { do: 'copy' };
    default:
      return null;
  }
}

/** Where a cursor is: a position along the chart, and a row or line of it. */
export interface Cursor {
  x: number;
  row: number;
}

/** Moves within bounds. */
export const within = (value: number, count: number): number =>
  Math.max(0, Math.min(count - 1, value));
