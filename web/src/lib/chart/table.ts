// The table beside each chart: the same numbers, to read and to take away.

import { inUnit, unitName, type Unit } from '../format';

export type Cell = number | string | null | undefined;

export interface Column {
  label: string;
  unit: Unit;
}

export interface Table {
  columns: Column[];
  rows: Cell[][];
}

/** The header of a column: its name and, where values do not carry it, its unit. */
export const header = (column: Column): string =>
  column.unit === 'time' ? `${column.label} (${unitName('time')})` : column.label;

/** A cell as it is read. */
export const cellText = (cell: Cell, column: Column): string => inUnit(cell ?? null, column.unit);

const RAW_UNITS: Partial<Record<Unit, string>> = { time: 'ns', text: '', score: '', count: '' };

function quoted(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Comma separated values (RFC 4180) in base units, never scaled; the unit is in the header. */
export function csv(table: Table): string {
  const head = table.columns.map(({ label, unit }) => {
    const raw = RAW_UNITS[unit] ?? unit;
    return quoted(raw ? `${label} [${raw}]` : label);
  });
  const rows = table.rows.map((row) => row.map((cell) => quoted(cell === null || cell === undefined ? '' : String(cell))));
  return [head, ...rows].map((row) => row.join(',')).join('\r\n');
}

/** Rows on one page of the table. */
export const PAGE_ROWS = 25;
