// Draws the pictures of docs/img, from the pages that a user sees. See pictures.sh.
import { statSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { expect, query, settled, test } from './page';

const images = new URL('../../docs/img/', import.meta.url).pathname;
const gpu = 'h200_resnet50.xsp';
const cpu = 'cpu_resnet50.xsp';

const open = (page: Page, hash: string) => page.goto(process.env['XSP_ADDRESS'] + hash);

async function take(page: Page, name: string, height: number) {
  await page.setViewportSize({ width: 1280, height });
  await page.waitForLoadState('networkidle');
  await page.mouse.move(0, 0);
  const path = `${images}${name}.png`;
  await page.screenshot({ path, animations: 'disabled' });
  expect(statSync(path).size, `bytes of ${path}`).toBeLessThan(200 * 1024);
}

test.use({ colorScheme: 'light' });

test('overview', async ({ page }) => {
  await open(page, `#/overview${query(gpu, '&batch=1')}`);
  await expect(page.getByRole('region', { name: 'Audit' })).toContainText('checks');
  await expect(page.getByRole('region', { name: 'Findings' }).getByRole('listitem')).toHaveCount(3);
  await settled(page);
  await take(page, 'overview', 915);
});

test('timeline', async ({ page }) => {
  await open(page, `#/timeline${query(gpu, '&batch=1')}`);
  const stage = page.locator('canvas[data-loading]');
  await expect(stage).toHaveAttribute('data-loading', '0');
  await page.getByRole('searchbox', { name: /^Search by name/ }).fill('layer1/0/conv2');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('region', { name: 'Selected span' })).toContainText('Ancestors');
  // No search, nothing dimmed; the span stays selected.
  await page.getByRole('searchbox', { name: /^Search by name/ }).fill('');
  await expect(stage).toHaveAttribute('data-loading', '0');
  await take(page, 'timeline', 720);
});

test('roofline', async ({ page }) => {
  await open(page, `#/analysis/kernel_roofline${query(gpu, '&batch=1')}`);
  await expect(page.getByRole('main').getByRole('figure').first()).toBeVisible();
  await settled(page);
  await take(page, 'roofline', 765);
});

test('layer', async ({ page }) => {
  await open(page, `#/layer/layer1%2F0%2Fconv2%2F_convolution${query(gpu, '&batch=1')}`);
  await expect(page.getByRole('region', { name: 'Roofline' }).locator('circle.ring')).toBeVisible({
    timeout: 60_000,
  });
  await settled(page);
  await take(page, 'layer', 835);
});

test('compare', async ({ page }) => {
  await open(page, `#/compare?e=${cpu}&e=${gpu}&batch=1`);
  await expect(page.getByRole('region', { name: 'Model' }).getByRole('table')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Layers' })).toContainText(/\d/);
  await take(page, 'compare', 840);
});

test('timeline_names', async ({ page }) => {
  await open(page, `#/timeline${query(gpu, '&batch=1')}`);
  await expect(page.locator('canvas[data-loading]')).toHaveAttribute('data-loading', '0');
  await page.getByRole('button', { name: 'by name', exact: true }).click();
  const measured = page.getByRole('region', { name: 'Measured' });
  await expect(measured.getByRole('row').nth(1)).toBeVisible();
  await take(page, 'timeline_names', 1000);
});

test('model_flame', async ({ page }) => {
  await open(page, `#/analysis/model_flame${query(gpu, '&batch=1')}`);
  await expect(page.getByRole('group', { name: /^Parts/ })).toBeVisible();
  await settled(page);
  await take(page, 'model_flame', 600);
});

test('layer_graph', async ({ page }) => {
  await open(page, `#/analysis/layer_graph${query(cpu, '&batch=1')}`);
  const graph = page.getByRole('group', { name: /^Graph of the layers/ });
  await expect(graph.locator('[data-node]').first()).toBeVisible();
  await settled(page);
  await take(page, 'layer_graph', 720);
});

test('ask', async ({ page }) => {
  await open(page, `#/query${query(gpu)}`);
  await page
    .getByRole('textbox', { name: 'SQL' })
    .fill(
      'SELECT type, avg(duration_ns) AS mean_ns, count(*) AS layers\nFROM layer GROUP BY ALL ORDER BY 2 DESC',
    );
  await page.keyboard.press('Control+Enter');
  await expect(page.getByText(/^\d+ rows in/)).toBeVisible();
  await take(page, 'ask', 720);
});

test('pareto', async ({ page }) => {
  await open(page, '#/home?show=chart&every=1&log=x&log=y&colour=batch');
  await settled(page);
  const points = page.getByRole('figure').locator('svg circle');
  await expect.poll(() => points.count()).toBeGreaterThanOrEqual(32);
  await take(page, 'pareto', 760);
});

test('lanes', async ({ page }) => {
  await open(page, `#/timeline${query(gpu, '&batch=1')}`);
  await expect(page.locator('canvas[data-loading="0"]')).toBeVisible();
  await page.getByRole('button', { name: 'lanes', exact: true }).click();
  const lanes = page.getByRole('region', { name: 'Lanes' });
  await lanes.getByRole('listitem').first().getByRole('button', { name: /^Pin/ }).click();
  await expect(page.locator('canvas[data-loading="0"]')).toBeVisible();
  await take(page, 'lanes', 900);
});

test('critical_path', async ({ page }) => {
  await open(page, `#/timeline${query(gpu, '&batch=1')}`);
  await expect(page.locator('canvas[data-loading="0"]')).toBeVisible();
  await page.getByRole('button', { name: 'critical path' }).click();
  await expect(page.getByRole('region', { name: 'Critical path' })).toContainText('links');
  await take(page, 'critical_path', 900);
});

test('history', async ({ page }) => {
  await open(page, '#/home?show=history');
  await settled(page);
  const figure = page.getByRole('figure');
  await expect(figure.locator('[data-verdict=bad]').first()).toBeVisible({ timeout: 60_000 });
  await take(page, 'history', 620);
});
