// The README's pictures, docs/img/*.png, from the real page over the evaluations of the tests.
import { mkdirSync, statSync } from 'node:fs';
import { expect, live, query, test } from './page';
import { root } from './setup';

const compared = `?e=${encodeURIComponent(live.ids.gpu)}&e=${encodeURIComponent(live.ids.cpu)}`;
const LARGEST = 200 * 1024; // bytes

const pictures: [name: string, hash: string, height: number][] = [
  ['overview', `#/overview${query(live.ids.gpu)}`, 900],
  ['timeline', `#/timeline${query(live.ids.gpu)}`, 720],
  ['roofline', `#/analysis/kernel_roofline${query(live.ids.gpu)}`, 900],
  ['compare', `#/compare${compared}`, 900],
];

for (const [name, hash, height] of pictures) {
  test(`picture ${name}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height });
    await page.goto(live.open(hash));
    await expect(page.locator('main [aria-busy=true]')).toHaveCount(0, { timeout: 60_000 });
    if (name === 'timeline') {
      const stage = page.locator('canvas[data-loading]');
      await expect(stage).toHaveAttribute('data-loading', '0', { timeout: 60_000 });
    }
    await page.waitForLoadState('networkidle');
    const path = `${root}docs/img/${name}.png`;
    mkdirSync(`${root}docs/img`, { recursive: true });
    await page.screenshot({ path, animations: 'disabled' });
    expect(statSync(path).size).toBeLessThan(LARGEST);
  });
}
