// The evaluations as a chart of two figures, and as a model's history; and what a chart is saved as.
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import type { Rows } from '../../web/src/data/types';
import { seriousOf } from './axe';
import { commits } from './history';
import { CPU, expect, GPU, live, settled, test } from './page';

const figure = (page: Page) => page.getByRole('figure');
const points = (page: Page) => figure(page).locator('svg circle');

async function saved(page: Page, kind: string): Promise<Buffer> {
  await figure(page).getByText('Save', { exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    figure(page).getByRole('button', { name: kind, exact: true }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`evaluations.${kind.toLowerCase()}`);
  return readFileSync(await download.path());
}

test('two figures of the evaluations, the front, and a point opens its evaluation', async ({
  page,
}) => {
  await page.goto(live.open('#/home'));
  await page.getByRole('button', { name: 'Chart', exact: true }).click();
  await settled(page);
  await expect.poll(() => points(page).count()).toBeGreaterThanOrEqual(2);
  await page.getByRole('button', { name: 'every batch size' }).click();
  const gpu = (await (
    await page.request.get(
      `${live.open('')}api/v1/evaluations/${encodeURIComponent(GPU)}/analyses/model_information`,
    )
  ).json()) as Rows;
  await expect(figure(page)).toContainText('Ringed: no other point is better in both');
  await figure(page).getByRole('button', { name: 'Table' }).click();
  const row = figure(page).getByRole('row').filter({ hasText: GPU });
  await expect(row).toHaveCount(gpu.rows.length);
  await figure(page).getByRole('button', { name: 'Chart', exact: true }).click();
  await page.getByRole('button', { name: 'log x' }).click();
  await page.getByRole('button', { name: 'log y' }).click();
  await page.getByRole('combobox', { name: 'colour' }).selectOption('device');
  await expect(page).toHaveURL(/log=x&log=y/);
  const address = page.url();
  await page.reload();
  expect(page.url()).toBe(address);
  await settled(page);
  await expect(page.getByRole('button', { name: 'log y' })).toHaveAttribute('aria-pressed', 'true');
  const slider = figure(page).getByRole('slider');
  await slider.focus();
  await page.keyboard.press('Home');
  await expect(slider).toHaveAttribute('aria-valuetext', /batch \d+: latency .* throughput/);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/#\/overview\?.*batch=/);
});

test('an axis that other analyses know is asked of them', async ({ page }) => {
  await page.goto(live.open('#/home?show=chart&y=kernel+share&every=1'));
  await settled(page);
  await expect(figure(page)).toContainText('lack one of the figures');
  await expect(figure(page)).toContainText('No front: kernel share has no better end.');
  await figure(page).getByRole('button', { name: 'Table' }).click();
  // Kernels take 802 us of 3,956.
  await expect(figure(page).getByRole('row').filter({ hasText: GPU }).first()).toContainText(
    '20.3',
  );
  await expect(figure(page).getByRole('row').filter({ hasText: CPU })).toHaveCount(0);
});

test('a chart is saved as SVG, PNG and CSV, and looks alike without the page', async ({ page }) => {
  await page.goto(live.open('#/home?show=chart&every=1'));
  await settled(page);
  // The figures of the evaluations come one after the other.
  await expect.poll(() => points(page).count()).toBeGreaterThanOrEqual(4);
  const count = await points(page).count();
  const svg = String(await saved(page, 'SVG'));
  expect(svg).not.toContain('var(--');
  expect(svg.match(/<circle/g)?.length).toBe(count);
  expect(svg).toContain('throughput over latency');
  const png = await saved(page, 'PNG');
  expect(png.subarray(1, 4).toString()).toBe('PNG');
  expect(png.readUInt32BE(16)).toBeGreaterThan(1000); // its width: two pixels for each
  const lines = String(await saved(page, 'CSV'))
    .trim()
    .split('\r\n');
  expect(lines.length).toBe(count + 1);
  expect(lines[0]).toContain('evaluation,model,batch,latency,throughput');
  // The picture alone, drawn by the browser, has the colours of the points.
  await page.goto('about:blank');
  await page.setContent(svg.replace(/^<\?xml[^>]*>/, ''));
  const fills = await page
    .locator('circle')
    .evaluateAll((all) => all.map((one) => getComputedStyle(one).fill));
  expect(new Set(fills).size).toBeGreaterThan(1);
});

test('a history marks what is certainly slower than the commit before', async ({ page }) => {
  await commits(page);
  await page.goto(live.open('#/home?show=history'));
  await settled(page);
  await expect(points(page)).toHaveCount(5);
  await expect(figure(page).locator('[data-verdict=bad]')).toHaveCount(1);
  await expect(figure(page).locator('[data-verdict=good]')).toHaveCount(0);
  await expect(figure(page)).toContainText('5 evaluations of resnet50: 1 certainly slower');
  await expect(page.getByRole('combobox', { name: 'named by' })).toHaveValue('commit');
  const slider = figure(page).getByRole('slider');
  await slider.focus();
  for (const key of ['Home', 'ArrowRight', 'ArrowRight', 'ArrowRight'])
    await page.keyboard.press(key);
  await expect(slider).toHaveAttribute(
    'aria-valuetext',
    /commit3\.xsp.*slower than the one before/,
  );
});

test('a history asks the comparison itself, which decides', async ({ page }) => {
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/compare/model')) asked.push(request.url());
  });
  await page.goto(live.open('#/home?show=history'));
  await settled(page);
  await expect(figure(page)).toContainText(/evaluations of/);
  // No two evaluations of the folder are of one model, framework and machine.
  expect(asked).toEqual([]);
});

for (const theme of ['light', 'dark'] as const) {
  for (const show of ['chart', 'history']) {
    test(`${show} on a phone, ${theme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width: 390, height: 844 });
      if (show === 'history') await commits(page);
      await page.goto(live.open(`#/home?show=${show}`));
      await expect(points(page).first()).toBeVisible();
      await settled(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
        390,
      );
      expect(await seriousOf(page)).toEqual([]);
    });
  }
}
