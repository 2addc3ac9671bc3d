import { expect, test } from '@playwright/test';
import { accessible, chart, FINISHED, open } from './pages';

test('a trace says which bytes it uses, of everybody and of one', async ({ page }) => {
  await open(page, '/run/trace-1/workload');
  const section = page.getByRole('region', { name: 'Which bytes are used' });
  await expect(section).toContainText('are touched by 113,872');
  await expect(chart(page, 'How much cache would hold it')).toBeVisible();
  const aligned = section.getByRole('region', { name: 'Where I/Os begin within 4 KiB' });
  await expect(aligned).toContainText('44,520');
  await section.getByRole('combobox').selectOption('mail');
  await expect(aligned).toContainText('17,808');
  await expect(section).toContainText('Nothing is said about working sets exactly');
  await accessible(page);
});

test('a run says why it does not know', async ({ page }) => {
  await open(page, `/run/${FINISHED}/workload`);
  const section = page.getByRole('region', { name: 'Which bytes are used' });
  await expect(section).toContainText('no offsets of I/Os');
  await expect(section.getByRole('table')).toHaveCount(0);
});
