// Takes pictures of pages, to be looked at: node scripts/look.mjs BASE OUT PATH...
// WIDTHS=360,3840 THEMES=light,dark,grey FULL=0 WAIT=1500 say which.
import { mkdirSync } from 'node:fs';
import { chromium } from '@playwright/test';

const [base, out, ...paths] = process.argv.slice(2);
const widths = (process.env.WIDTHS ?? '360,1280').split(',').map(Number);
const themes = (process.env.THEMES ?? 'light').split(',');
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
});
for (const look of themes) {
  const colorScheme = look === 'dark' ? 'dark' : 'light';
  for (const width of widths) {
    const page = await browser.newPage({ viewport: { width, height: width < 500 ? 800 : width > 2000 ? 2160 : 900 }, colorScheme });
    page.on('console', (message) => message.type() === 'error' && console.error(message.text()));
    page.on('pageerror', (error) => console.error(String(error)));
    for (const path of paths) {
      await page.goto(base + path);
      if (look === 'grey') await page.evaluate(() => (document.documentElement.style.filter = 'grayscale(1)'));
      await page.waitForTimeout(Number(process.env.WAIT ?? 1500));
      const name = `${path.replace(/[^a-z0-9]+/gi, '-')}-${width}-${look}.png`;
      await page.screenshot({ path: `${out}/${name}`, fullPage: process.env.FULL !== '0' });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      console.log(name, wide > width ? `SCROLLS SIDEWAYS: ${wide}` : '');
    }
    await page.close();
  }
}
await browser.close();
