// Everybody can read it: axe finds nothing serious, in either theme; the keyboard reaches all.
import AxeBuilder from '@axe-core/playwright';
import { expect, live, query, test } from './page';

const pages: [string, string][] = [
  ['home', '#/home'],
  ['overview', '#/overview'],
  ['analysis', '#/analysis/layer_information'],
  ['roofline', '#/analysis/kernel_roofline'],
  ['timeline', '#/timeline'],
  ['layer', '#/layer/conv1%2F_convolution'],
  ['kernel', '#/kernel/implicit_convolve_sgemm'],
  ['compare', '#/compare'],
];

for (const theme of ['light', 'dark'] as const) {
  for (const [name, hash] of pages) {
    test(`${name}, ${theme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.goto(live.open(hash + (name === 'home' ? '' : query(live.ids.gpu))));
      await expect(page.getByRole('main')).not.toBeEmpty();
      await page.waitForLoadState('networkidle');
      const { violations } = await new AxeBuilder({ page }).analyze();
      const serious = violations
        .filter((one) => one.impact === 'serious' || one.impact === 'critical')
        .map((one) => `${one.id}: ${one.nodes[0]?.html ?? ''}`);
      expect(serious).toEqual([]);
    });
  }
}

test('the keyboard gets to the content, and to every page', async ({ page }) => {
  await page.goto(live.open(`#/overview${query(live.ids.gpu)}`));
  await expect(page.getByRole('region', { name: 'Latency' })).toBeVisible();
  await page.keyboard.press('Tab');
  await expect(page.getByText('To the content')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();
});
