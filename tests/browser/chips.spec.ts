// A selected layer or kernel filters the rows of every view on the page of an analysis.
import type { Page } from '@playwright/test';
import { ask, expect, live, query, test } from './page';

const layer = 'layer1/0/conv2/_convolution';
const id = encodeURIComponent(live.ids.gpu);

async function rowsOf(page: Page, analysis: string, column: string, value: string) {
  const rows = await ask(page, `/evaluations/${id}/analyses/${analysis}`);
  const at = rows.columns.findIndex((one) => one.name === column);
  return { all: rows.rows.length, own: rows.rows.filter((row) => row[at] === value).length };
}
const open = (page: Page, analysis: string, more: string) =>
  page.goto(live.open(`#/analysis/${analysis}${query(live.ids.gpu, more)}`));
const table = (page: Page) => page.getByRole('region', { name: 'Table' });

async function expectFiltered(page: Page, kind: 'layer' | 'kernel', all: number, own: number) {
  expect(own).toBeGreaterThan(0);
  expect(own).toBeLessThan(all);
  await expect(table(page)).toContainText(`${all} rows`);
  await expect(table(page).locator('tr[aria-current]').first()).toBeVisible();
  await expect(table(page).locator('tbody tr.dimmed').first()).toBeVisible();
  await table(page)
    .getByRole('checkbox', { name: `only this ${kind}` })
    .check();
  await expect(table(page)).toContainText(`${own} of ${all} rows`);
  await expect(table(page).locator('tr[aria-current]')).toHaveCount(own);
  await expect(table(page).locator('tbody tr.dimmed')).toHaveCount(0);
}
async function clear(page: Page, kind: 'layer' | 'kernel', all: number) {
  await page.getByRole('button', { name: `Clear the ${kind}` }).click();
  await expect(table(page)).toContainText(`${all} rows`);
  await expect(table(page).locator('tr[aria-current], tbody tr.dimmed')).toHaveCount(0);
}

const byLayer = `&layer=${encodeURIComponent(layer)}`;
for (const analysis of ['layer_latency', 'kernels_by_layer', 'kernel_information'] as const) {
  test(`a layer filters ${analysis}`, async ({ page }) => {
    const column = analysis === 'layer_latency' ? 'name' : 'layer';
    const { all, own } = await rowsOf(page, analysis, column, layer);
    await open(page, analysis, byLayer);
    await expectFiltered(page, 'layer', all, own);
    await clear(page, 'layer', all);
  });
}

test('a layer is what the bars and boxes show, the others are dimmed', async ({ page }) => {
  const { all } = await rowsOf(page, 'layer_latency', 'name', layer);
  await open(page, 'layer_latency', byLayer);
  const bars = page.getByRole('figure').first().locator('svg rect[fill^="var(--c"]');
  await expect(bars).toHaveCount(all);
  const opacities = () =>
    bars.evaluateAll((some) => some.map((one) => one.getAttribute('opacity')));
  await expect.poll(async () => (await opacities()).filter((one) => one === '1').length).toBe(1);
  const boxes = page.getByRole('figure').nth(1).locator('svg g[opacity]');
  await expect(boxes).toHaveCount(all);
  const bright = await boxes.evaluateAll(
    (some) => some.filter((one) => one.getAttribute('opacity') === '1').length,
  );
  expect(bright).toBe(1);
  await page.getByRole('button', { name: 'Clear the layer' }).click();
  await expect.poll(async () => (await opacities()).filter((one) => one === '1').length).toBe(all);
});

test('a kernel filters the table and the points of the roofline', async ({ page }) => {
  const kernels = await ask(page, `/evaluations/${id}/analyses/kernels_by_name`);
  const name = String(kernels.rows[0]?.[kernels.columns.findIndex((one) => one.name === 'name')]);
  const { all, own } = await rowsOf(page, 'kernel_roofline', 'name', name);
  await open(page, 'kernel_roofline', `&kernel=${encodeURIComponent(name)}`);
  const points = page.locator('circle.point');
  await expect(points.first()).toBeVisible();
  const opacities = await points.evaluateAll((some) =>
    some.map((one) => one.getAttribute('opacity')),
  );
  expect(opacities.filter((one) => one === '1')).toHaveLength(own);
  expect(opacities.length).toBeGreaterThan(own);
  await expect(page.locator('circle.ring')).toHaveCount(own);
  await expectFiltered(page, 'kernel', all, own);
  await clear(page, 'kernel', all);
  await expect(page.locator('circle.ring')).toHaveCount(0);
});

test('a layer and a kernel together leave what is of both', async ({ page }) => {
  const rows = await ask(page, `/evaluations/${id}/analyses/kernel_information`);
  const of = (column: string) => rows.columns.findIndex((one) => one.name === column);
  const row = rows.rows.find((one) => one[of('layer')] === layer);
  const kernel = String(row?.[of('name')]);
  const own = rows.rows.filter(
    (one) => one[of('layer')] === layer && one[of('name')] === kernel,
  ).length;
  await open(page, 'kernel_information', `${byLayer}&kernel=${encodeURIComponent(kernel)}`);
  await expectFiltered(page, 'kernel', rows.rows.length, own);
});
