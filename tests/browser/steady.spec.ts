// Content that arrives later does not move content that is already visible. Printed pages are black on white,
// with every row.
import { expect, live, query, settled, test } from './page';

const pages: [string, string][] = [
  ['overview', '#/overview'],
  ['analysis', '#/analysis/layer_information'],
  ['roofline', '#/analysis/kernel_roofline'],
  ['layer', '#/layer/layer1%2F0%2Fconv2%2F_convolution'],
];

interface Shift extends PerformanceEntry {
  value: number;
  hadRecentInput: boolean;
}

for (const [name, hash] of pages) {
  test(`the ${name} does not jump while answers come`, async ({ page }) => {
    await page.addInitScript(() => {
      const seen = window as unknown as { shifted: number };
      seen.shifted = 0;
      new PerformanceObserver((list) => {
        for (const one of list.getEntries() as Shift[])
          if (!one.hadRecentInput) seen.shifted += one.value;
      }).observe({ type: 'layout-shift', buffered: true });
    });
    await page.goto(live.open(hash + query(live.ids.gpu)));
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/\w/);
    await page.waitForLoadState('networkidle');
    await settled(page);
    const shifted = await page.evaluate(() => (window as unknown as { shifted: number }).shifted);
    expect(shifted).toBeLessThan(0.1);
  });
}

test('on paper: the light colours, no controls, every row, on the width there is', async ({
  page,
}) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto(live.open(`#/analysis/layer_information${query(live.ids.gpu)}`));
  const table = page.getByRole('region', { name: 'Table' });
  await expect(table).toContainText(/\d+ rows/);
  const count = Number((await table.innerText()).match(/(\d+) rows/)?.[1]);
  expect(await table.getByRole('row').count()).toBeLessThan(count);

  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await page.setViewportSize({ width: 1000, height: 700 }); // a landscape page
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await expect(table.getByRole('row')).toHaveCount(count + 1);
  const colours = await page.evaluate(() => {
    const style = getComputedStyle(document.body);
    return [style.backgroundColor, style.color];
  });
  expect(colours).toEqual(['rgb(255, 255, 255)', 'rgb(0, 0, 0)']);
  await expect(page.getByRole('navigation', { name: 'Pages' })).toBeHidden();
  await expect(table.getByRole('searchbox')).toBeHidden();
  await expect(page.getByRole('banner')).toContainText('h200_resnet50, batch 1');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide).toBeLessThanOrEqual(1000);
  await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
  expect((await page.pdf({ preferCSSPageSize: true })).length).toBeGreaterThan(20_000);
});
