import type { Page } from '@playwright/test';
import { chart } from './pages';

/** All raw values of a chart's table, row by row, over all its pages. */
export async function tableOf(page: Page, title: string): Promise<string[][]> {
  const frame = chart(page, title);
  await frame.getByRole('button', { name: 'Table' }).click();
  const rows: string[][] = [];
  for (;;) {
    rows.push(...(await frame.locator('tbody tr').evaluateAll((found) =>
      found.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.dataset['value'] ?? '')))));
    const later = frame.getByRole('button', { name: 'Later rows' });
    if ((await later.count()) === 0 || (await later.isDisabled())) return rows;
    await later.click();
  }
}
