// Accessibility: axe finds no serious problem in either theme, nothing is wider than the window, and the keyboard
// reaches everything.
import type { Page } from '@playwright/test';
import { seriousOf } from './axe';
import { commits } from './history';
import { expect, live, query, report, settled, test, WATCHED } from './page';

// One of the recorded evaluation's kernels, whose name is in all its texts.
const kernel =
  'sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize64x32x64_stage5_' +
  'warpsize2x2x1_g1_tensor16x8x8_alignc4_execute_kernel__5x_cudnn';
const gpu = query(live.ids.gpu);
const both = `?e=${encodeURIComponent(live.ids.cpu)}&e=${encodeURIComponent(live.ids.gpu)}`;
interface View {
  name: string;
  hash: string;
  isLive?: true; // a report has no such page
}
const views: View[] = [
  { name: 'evaluations', hash: '#/home', isLive: true },
  { name: 'chart', hash: '#/home?show=chart&every=1', isLive: true },
  { name: 'history', hash: '#/home?show=history', isLive: true },
  { name: 'overview', hash: `#/overview${gpu}` },
  { name: 'analysis', hash: `#/analysis/layer_information${gpu}` },
  { name: 'roofline', hash: `#/analysis/kernel_roofline${gpu}` },
  { name: 'model flame graph', hash: `#/analysis/model_flame${gpu}` },
  { name: 'graph', hash: `#/analysis/layer_graph${gpu}` },
  { name: 'stacks', hash: `#/analysis/flame_graph${query(WATCHED)}`, isLive: true },
  { name: 'timeline', hash: `#/timeline${gpu}` },
  { name: 'layer', hash: `#/layer/conv1%2F_convolution${gpu}` },
  { name: 'kernel', hash: `#/kernel/${encodeURIComponent(kernel)}${gpu}` },
  { name: 'compare', hash: `#/compare${both}` },
  { name: 'ask', hash: `#/query${query(live.ids.gpu, '&sql=FROM+run')}`, isLive: true },
];

async function open(page: Page, view: View) {
  if (view.name === 'history') await commits(page);
  await page.goto(live.open(view.hash));
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/\w/);
  await page.waitForLoadState('networkidle');
  await settled(page);
}
const widthOf = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth);

test.setTimeout(180_000); // axe looks at every cell of long tables

for (const width of [390, 768, 1440]) {
  for (const view of views) {
    test(`${view.name} at ${width} px`, async ({ page }) => {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: 'light' });
      await open(page, view);
      expect(await widthOf(page)).toBeLessThanOrEqual(width);
      expect(await seriousOf(page)).toEqual([]);
      // Themes differ in their colours, and in nothing else that the rules check.
      await page.emulateMedia({ colorScheme: 'dark' });
      await settled(page);
      expect(await seriousOf(page, ['color-contrast'])).toEqual([]);
    });
  }
}

for (const view of views) {
  test(`${view.name}, by the keyboard alone`, async ({ page }) => {
    await open(page, view);
    // A control that Tab reaches has a name, is in sight when it is reached, and lets go.
    const reached = new Set<string>();
    const wrong: string[] = [];
    for (let step = 0; step < 400; step++) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const one = document.activeElement as HTMLElement;
        if (one === document.body) return null;
        const all = [...document.querySelectorAll('*')];
        const { top, bottom, left, right } = one.getBoundingClientRect();
        const isSeen = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
        return { place: all.indexOf(one), isSeen, text: one.outerHTML.slice(0, 120) };
      });
      if (at === null || reached.has(String(at.place))) break;
      reached.add(String(at.place));
      if (!at.isSeen) wrong.push(at.text);
    }
    expect(wrong).toEqual([]);
    expect(reached.size).toBeGreaterThan(8);
  });

  test(`${view.name} on paper`, async ({ page }) => {
    await page.setViewportSize({ width: 720, height: 1000 });
    await open(page, view);
    await page.emulateMedia({ media: 'print', colorScheme: 'light' });
    await settled(page);
    expect(await widthOf(page)).toBeLessThanOrEqual(720);
    // The page prints its subject, and leaves out controls that paper cannot operate.
    await expect(page.getByRole('navigation', { name: 'Pages' })).toBeHidden();
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  });
}

for (const view of views.filter((one) => !one.isLive)) {
  test(`${view.name}, in a report`, async ({ page }) => {
    const own = view.hash
      .replaceAll(encodeURIComponent(live.ids.gpu), encodeURIComponent(report.ids.gpu))
      .replaceAll(encodeURIComponent(live.ids.cpu), encodeURIComponent(report.ids.cpu));
    await page.goto(report.open(own));
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/\w/);
    await settled(page);
    expect(await seriousOf(page)).toEqual([]);
  });
}

test('what is wrong with a page is found', async ({ page }) => {
  await page.setContent(
    '<main><h1>A page</h1><img src="data:,"><p style="color: #ccc">grey</p></main>',
  );
  expect((await seriousOf(page)).join(' ')).toMatch(/color-contrast.*image-alt/);
  expect((await seriousOf(page, ['color-contrast'])).length).toBe(1);
});

test('the keyboard gets to the content, and to every page', async ({ page }) => {
  await page.goto(live.open(`#/overview${query(live.ids.gpu)}`));
  await expect(page.getByRole('region', { name: 'Latency' })).toBeVisible();
  await page.keyboard.press('Tab');
  await expect(page.getByText('To the content')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();
});
