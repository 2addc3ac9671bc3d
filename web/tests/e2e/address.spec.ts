import { expect, test } from '@playwright/test';
import { chart, FINISHED, open, settled } from './pages';

const ADDRESSES = [
  `/run/${FINISHED}/latency?at=74&bs=64k,128k&dir=w&m=lat&t=60-110`,
  `/run/${FINISHED}/workload?by=sel&m=lat&s=p50&sel=w64k,w128k,w256k&cols=iops,lat&grid=bs:4k,wl:shop`,
  `/run/${FINISHED}?step=3&tile=1,2&wl=shop`,
];

for (const address of ADDRESSES) {
  test(`reopens ${address}`, async ({ page }) => {
    await open(page, address);
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe(address);
    const before = await page.locator('main').innerText();
    await page.goto('about:blank');
    await open(page, address);
    expect(await page.locator('main').innerText()).toBe(before);
  });
}

test('choices are in the address, usual ones are not, and back leads back', async ({ page }) => {
  await open(page, `/run/${FINISHED}/workload`);
  await page.getByRole('group', { name: 'Measure' }).getByRole('button', { name: 'Latency' }).click();
  await expect(page).toHaveURL(/workload\?m=lat$/);
  await page.getByRole('combobox', { name: 'Break down by' }).selectOption('bs');
  await expect(page).toHaveURL(/workload\?by=bs&m=lat$/);
  await page.goBack();
  await expect(page).toHaveURL(/workload\?m=lat$/);
  await expect(page.getByRole('combobox', { name: 'Break down by' })).toHaveValue('rw');
  await page.goBack();
  await expect(page).toHaveURL(/workload$/);
});

test('unknown keys are ignored', async ({ page }) => {
  await open(page, `/run/${FINISHED}?zoo=1&m=zoo&v=1`);
  await expect(page.locator('.answer .big').first()).toContainText('7 tiles');
});

test('links to other pages carry the lens', async ({ page }) => {
  await open(page, `/run/${FINISHED}?bs=8k&dir=r`);
  await page.getByRole('navigation').getByRole('link', { name: 'Latency' }).click();
  await expect(page).toHaveURL(/latency\?bs=8k&dir=r$/);
});

test('a span dragged with the mouse is one step of the way back', async ({ page }) => {
  await open(page, `/run/${FINISHED}`);
  const surface = chart(page, 'Latency of every I/O').locator('canvas');
  await surface.scrollIntoViewIfNeeded();
  const box = await surface.boundingBox();
  if (!box) throw new Error('the heat map has no place');
  await page.mouse.move(box.x + box.width * 0.3, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 100, { steps: 5 });
  await page.mouse.move(box.x + box.width * 0.5, box.y + 100, { steps: 5 });
  await page.mouse.up();
  await expect(page).toHaveURL(/[?&]t=\d/);
  await settled(page);
  await page.goBack();
  await expect(page).toHaveURL(new RegExp(`/run/${FINISHED}$`));
});
