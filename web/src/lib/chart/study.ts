// Tables of studies as curves: their first column counts tiles, the others are configurations.

import type { StudySection } from '../api/types';
import { plotOf, type TilesPlot } from './tiles';
import type { Table } from './table';

const numberOf = (cell: string): number | null => {
  const found = /^-?[\d,]*\.?\d+/.exec(cell.trim())?.[0];
  return found === undefined ? null : Number(found.replaceAll(',', ''));
};

/** Whether a section is a table of numbers by tiles. */
export const isPlottable = (section: StudySection): boolean =>
  section.columns[0] === 'tiles' && section.columns.length > 1 && section.rows.length > 0 &&
  section.rows.every((row) => row.every((cell) => cell === '-' || numberOf(cell) !== null)) &&
  section.rows.some((row) => row.slice(1).some((cell) => numberOf(cell) !== null && cell !== '-'));

/** A line for each column that has a number. */
export function plotted(section: StudySection): TilesPlot {
  const at = section.rows.map((row) => numberOf(row[0] ?? '') ?? 0);
  const lines = section.columns.slice(1).map((name, position) => {
    const texts = section.rows.map((row) => row[position + 1] ?? '-');
    return { name, texts, values: texts.map((text) => (text === '-' ? null : numberOf(text))) };
  }).filter(({ values }) => values.some((value) => value !== null));
  return plotOf(at, lines, 'count');
}

/** The section's cells as they were printed. */
export const sectionTable = (section: StudySection): Table =>
  ({ columns: section.columns.map((label) => ({ label, unit: 'text' })), rows: section.rows });
