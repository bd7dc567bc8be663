// Tables: sorted, filtered, saved; a layer chosen in one view filters the others, and its page tells all.
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { ask, expect, live, query, test } from './page';

const layers = () => live.open(`#/analysis/layer_information${query(live.ids.gpu)}`);

// The first layer that the evaluation has: its name, and how it is shown.
async function firstLayer(page: Page): Promise<{ name: string; label: string; type: string }> {
  const id = encodeURIComponent(live.ids.gpu);
  const rows = await ask(page, `/evaluations/${id}/analyses/layer_information`);
  const of = (name: string) =>
    String(rows.rows[0]?.[rows.columns.findIndex((one) => one.name === name)]);
  return { name: of('name'), label: of('label'), type: of('type') };
}

test('a layer chosen goes along, until it is cleared', async ({ page }) => {
  const { name, label } = await firstLayer(page);
  await page.goto(layers());
  await page.getByRole('main').getByText(label, { exact: true }).first().click();
  const chip = page.getByRole('group', { name: 'Filters' });
  await expect(chip).toContainText(name);
  const more = `&layer=${encodeURIComponent(name)}`;
  await page.goto(live.open(`#/analysis/kernels_by_layer${query(live.ids.gpu, more)}`));
  await expect(page.getByRole('group', { name: 'Filters' })).toContainText(name);
  await page.getByRole('button', { name: 'Clear the layer' }).click();
  await expect(page.getByRole('group', { name: 'Filters' })).toHaveCount(0);
  expect(page.url()).not.toContain('layer=');
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
  expect(lines[0]).toBe(rows.columns.map((one) => one.name).join(','));
});

test('an address shows what its sender saw', async ({ page, context }) => {
  const { name, label } = await firstLayer(page);
  await page.goto(layers());
  await page.getByRole('main').getByText(label, { exact: true }).first().click();
  await expect(page.getByRole('group', { name: 'Filters' })).toContainText(name);
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(other.getByRole('group', { name: 'Filters' })).toContainText(name);
});
