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
