// Help: the documents, a chapter each, a click away from every page.
import { seriousOf } from './axe';
import { expect, live, query, report, test } from './page';

test('the page leads to it, and its links lead from chapter to chapter', async ({ page }) => {
  await page.goto(live.open(`#/overview${query(live.ids.cpu)}`));
  await page.getByRole('link', { name: 'Help', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/Tutorial/);
  await page.getByRole('navigation').getByRole('link', { name: 'Glossary' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Glossary');
  await page.goto(live.open('help#reading_the_numbers'));
  await page.getByRole('main').getByRole('link', { name: 'tutorial' }).first().click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/Tutorial/);
  await expect(page.getByRole('main').getByRole('img').first()).toBeVisible();
});

test('a report, which is one file, has no link to it', async ({ page }) => {
  await page.goto(report.open(`#/overview${query(report.ids.cpu)}`));
  await expect(page.getByRole('link', { name: 'Timeline', exact: true })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Help', exact: true })).toHaveCount(0);
});

for (const theme of ['light', 'dark'] as const) {
  test(`everybody can read it, on a phone as well, ${theme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(live.open('help#tutorial'));
      expect(await seriousOf(page)).toEqual([]);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide).toBeLessThanOrEqual(width);
    }
  });
}
