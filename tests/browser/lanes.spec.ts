// The lanes of the timeline: pinned, hidden, resized, coloured by name; all of it in the address.
import type { Page } from '@playwright/test';
import { expect, GPU, live, query, settled, test } from './page';

const stage = (page: Page) => page.locator('canvas[data-loading="0"]');
const lanes = (page: Page) => page.getByRole('region', { name: 'Lanes' });

async function open(page: Page, more = '') {
  await page.goto(live.open(`#/timeline${query(GPU, more)}`));
  await expect(stage(page)).toBeVisible();
  await page.getByRole('button', { name: 'lanes', exact: true }).click();
}
const height = (page: Page) => stage(page).evaluate((one) => one.clientHeight);
// A strip of the canvas as text, to see whether it changed.
const strip = (page: Page, top: number, size: number) =>
  stage(page).evaluate(
    (one, [y, h]) => {
      const canvas = one as HTMLCanvasElement;
      const ratio = canvas.width / canvas.clientWidth;
      // A copy is read, because the page's own canvas is not made for being read.
      const copy = document.createElement('canvas');
      [copy.width, copy.height] = [canvas.width, Math.round((h ?? 1) * ratio)];
      const context = copy.getContext('2d', {
        willReadFrequently: true,
      }) as CanvasRenderingContext2D;
      context.drawImage(canvas, 0, -(y ?? 0) * ratio);
      return context.getImageData(0, 0, copy.width, copy.height).data.join();
    },
    [top, size],
  );

test('a lane is hidden, and made higher; the address has it', async ({ page }) => {
  await open(page);
  const before = await height(page);
  const first = lanes(page).getByRole('listitem').first();
  await first.getByRole('button', { name: /^Hide/ }).click();
  await expect(page).toHaveURL(/hide=0/);
  await expect.poll(() => height(page)).toBeLessThan(before);
  await first.getByRole('button', { name: /^Hide/ }).click();
  await expect(page).not.toHaveURL(/hide=/);
  await first.getByRole('button', { name: /^Heighten/ }).click();
  await expect(page).toHaveURL(/size=0%3A1\.5/);
  await expect.poll(() => height(page)).toBeGreaterThan(before);
  await page.reload();
  await expect(stage(page)).toBeVisible();
  await expect.poll(() => height(page)).toBeGreaterThan(before);
});

test('a pinned lane stays at the top while the others scroll', async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 420 });
  await open(page);
  const items = lanes(page).getByRole('listitem');
  const last = items.last();
  const before = await strip(page, 52, 25);
  await last.getByRole('button', { name: /^Pin/ }).click();
  await expect(page).toHaveURL(/pin=\d+/);
  for (const one of await items.all()) {
    const more = one.getByRole('button', { name: /^Heighten/ });
    await more.click();
  }
  await settled(page);
  await expect.poll(() => strip(page, 52, 25)).not.toBe(before);
  const pinned = await strip(page, 52, 25);
  const below = await strip(page, 120, 40);
  await stage(page).hover({ position: { x: 400, y: 150 } });
  await page.keyboard.down('Alt');
  await page.mouse.wheel(0, 60);
  await page.keyboard.up('Alt');
  await page.mouse.move(0, 0);
  await expect.poll(() => strip(page, 120, 40)).not.toBe(below);
  expect(await strip(page, 52, 25)).toBe(pinned);
});

test('spans have the colours of their names on demand', async ({ page }) => {
  await open(page);
  const before = await strip(page, 52, 200);
  await page.getByRole('button', { name: 'colour by name' }).click();
  await expect(page).toHaveURL(/colour=name/);
  await expect.poll(() => strip(page, 52, 200)).not.toBe(before);
  await expect(page.getByRole('group', { name: 'Types of layers' })).toHaveCount(0);
  await page.getByRole('button', { name: 'colour by name' }).click();
  await expect.poll(() => strip(page, 52, 200)).toBe(before);
});
