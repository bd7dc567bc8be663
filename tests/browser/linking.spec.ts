// Tables: sorted, filtered, saved; a layer chosen in one view filters the others, and its page tells all.
import { readFileSync } from 'node:fs';
import { ask, expect, live, query, test } from './page';

const layers = () => live.open(`#/analysis/layer_information${query(live.ids.gpu)}`);

test('a layer chosen goes along, until it is cleared', async ({ page }) => {
  await page.goto(layers());
  const chosen = page.getByRole('main').getByText('conv1', { exact: true }).first();
  await chosen.click();
  const chip = page.getByRole('group', { name: 'Filters' });
  await expect(chip).toContainText('conv1');
  await page.goto(live.open(`#/analysis/kernels_by_layer${query(live.ids.gpu, '&layer=conv1')}`));
  await expect(page.getByRole('group', { name: 'Filters' })).toContainText('conv1');
  await page.getByRole('button', { name: 'Clear the layer' }).click();
  await expect(page.getByRole('group', { name: 'Filters' })).toHaveCount(0);
  expect(page.url()).not.toContain('layer=');
});

test('the page of a layer has its rows of every analysis, over batch sizes', async ({ page }) => {
  await page.goto(live.open(`#/layer/conv1${query(live.ids.gpu)}`));
  await expect(page.getByRole('heading', { name: 'conv1', level: 1 })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Layer information' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Kernels by layer' })).toBeVisible();
  await expect(page.getByText('aten::_convolution').first()).toBeVisible();
});

test('what is saved as CSV is what the API answers', async ({ page }) => {
  await page.goto(layers());
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: /CSV/ }).first().click();
  const text = readFileSync(await (await saving).path(), 'utf8');
  const id = encodeURIComponent(live.ids.gpu);
  const rows = await ask(page, `/evaluations/${id}/analyses/layer_information`);
  const lines = text.trim().split(/\r?\n/);
  expect(lines).toHaveLength(rows.rows.length + 1);
  expect(lines[0]).toBe(rows.columns.map((one: { name: string }) => one.name).join(','));
});

test('an address shows what its sender saw', async ({ page, context }) => {
  await page.goto(layers());
  await page.getByRole('main').getByText('conv1', { exact: true }).first().click();
  await expect(page.getByRole('group', { name: 'Filters' })).toContainText('conv1');
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(other.getByRole('group', { name: 'Filters' })).toContainText('conv1');
});
