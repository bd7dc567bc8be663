// Accessibility: axe finds no serious problem, in either theme, and the keyboard reaches everything.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, live, query, report, settled, test } from './page';

// One of the recorded evaluation's kernels, whose name is in all its texts.
const kernel =
  'sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize64x32x64_stage5_' +
  'warpsize2x2x1_g1_tensor16x8x8_alignc4_execute_kernel__5x_cudnn';
const pages: [string, string][] = [
  ['home', '#/home'],
  ['overview', '#/overview'],
  ['analysis', '#/analysis/layer_information'],
  ['roofline', '#/analysis/kernel_roofline'],
  ['timeline', '#/timeline'],
  ['layer', '#/layer/conv1%2F_convolution'],
  ['kernel', `#/kernel/${encodeURIComponent(kernel)}`],
  ['compare', '#/compare'],
];

async function seriousOf(page: Page, rules?: string[]): Promise<string[]> {
  const axe = new AxeBuilder({ page }).options({ resultTypes: ['violations'] });
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations
    .filter((one) => one.impact === 'serious' || one.impact === 'critical')
    .map((one) => `${one.id}: ${one.nodes[0]?.html ?? ''}`);
}

for (const theme of ['light', 'dark'] as const) {
  for (const [name, hash] of pages) {
    test(`${name}, ${theme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.goto(live.open(hash + (name === 'home' ? '' : query(live.ids.gpu))));
      await expect(page.getByRole('main')).not.toBeEmpty();
      await page.waitForLoadState('networkidle');
      // Themes differ in their colours, and in nothing else that the rules check.
      expect(await seriousOf(page, theme === 'dark' ? ['color-contrast'] : undefined)).toEqual([]);
    });
  }
}

for (const [name, hash] of pages.filter(([one]) => one !== 'home')) {
  test(`${name}, in a report`, async ({ page }) => {
    await page.goto(report.open(hash + query(report.ids.gpu)));
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/\w/);
    await settled(page);
    expect(await seriousOf(page)).toEqual([]);
  });
}

test('the keyboard gets to the content, and to every page', async ({ page }) => {
  await page.goto(live.open(`#/overview${query(live.ids.gpu)}`));
  await expect(page.getByRole('region', { name: 'Latency' })).toBeVisible();
  await page.keyboard.press('Tab');
  await expect(page.getByText('To the content')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();
});
