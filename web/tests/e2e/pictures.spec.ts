// Pictures of every page, to be looked at: test-results/pictures/NAME-WIDTH-THEME.jpg (a wall's PNG
// takes seconds to pack). A stranger
// should find the answer in the first sentence, a unit at every number, and two lines apart in grey.
import { test } from '@playwright/test';
import { FINISHED, open, OTHERS, PAGES, settled } from './pages';

const WIDTHS: readonly [number, number][] = [[360, 780], [1280, 900], [3840, 2160]];

for (const [name, path] of [...PAGES(FINISHED), ...OTHERS, ['tier-of-one', '/run/tier-4/tier'], ['moment', `/run/${FINISHED}/latency?at=74`]] as const) {
  test(`pictures of ${name}`, async ({ page }) => {
    await open(page, path);
    for (const [width, height] of WIDTHS) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await settled(page);
        await page.screenshot({ path: `test-results/pictures/${name}-${width}-${colorScheme}.jpg`, type: 'jpeg', quality: 85, fullPage: true });
      }
    }
  });
}
