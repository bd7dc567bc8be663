// The page says nothing false, and tells what is missing and how to have it.
import type { Page } from '@playwright/test';
import { format } from '../../web/src/data/units';
import { ask, CPU, expect, GPU, live, query, report, settled, test } from './page';
import { build } from './setup';

const id = encodeURIComponent(GPU);
const layer = 'layer1/0/conv2/_convolution';
const rowsOf = async (page: Page, analysis: string, more = '') => {
  const rows = await ask(page, `/evaluations/${id}/analyses/${analysis}${more}`);
  return rows.rows.map((row) =>
    Object.fromEntries(rows.columns.map(({ name }, at) => [name, row[at] ?? null])),
  );
};

test('a page that does not exist is said, not swallowed', async ({ page }) => {
  await page.goto(live.open(`#/nonsense${query(GPU)}`));
  await expect(page.getByRole('heading', { name: 'No such page' })).toBeVisible();
  await expect(page.getByRole('main')).toContainText('nonsense');
  expect(page.url()).toContain('nonsense');
});

test('an evaluation that is not there is said without an address of the API', async ({ page }) => {
  const answer = await page.request.get(`${live.open('')}api/v1/evaluations/gone.xsp`);
  expect(answer.status()).toBe(404);
  const { error } = await answer.json();
  expect(error).toContain('gone.xsp');
  expect(error).not.toContain('/api/');
});

test('what was not measured is said once', async ({ page }) => {
  await page.goto(live.open(`#/analysis/kernels_by_name${query(CPU)}`));
  const main = page.getByRole('main').getByRole('article');
  await expect(main.getByText(/not measured: no GPU/)).toBeVisible();
  await expect(main.getByText(/not measured: not measured/)).toHaveCount(0);
});

for (const place of [live, report]) {
  test(`the latency lies inside its interval, ${place.name}`, async ({ page }) => {
    await page.goto(place.open(`#/overview${query(place.ids.gpu)}`));
    const tile = page.getByRole('region', { name: 'Latency' });
    await expect(tile).toContainText(/within [\d.]+ ms – [\d.]+ ms/);
    const text = await tile.innerText();
    const [, low, high] = /within ([\d.]+) ms – ([\d.]+) ms/.exec(text) ?? [];
    const latency = Number(/([\d.]+) ms/.exec(text)?.[1]);
    expect(latency).toBeGreaterThanOrEqual(Number(low));
    expect(latency).toBeLessThanOrEqual(Number(high));
  });

  test(`the energy of a layer is that of the analysis, ${place.name}`, async ({ page }) => {
    const rows = await rowsOf(page, 'energy_by_layer', '?batch=1');
    const own = rows.find((row) => row['layer'] === layer);
    await page.goto(place.open(`#/layer/${encodeURIComponent(layer)}${query(place.ids.gpu)}`));
    const tile = page.getByRole('region', { name: 'Energy' });
    await expect(tile).toContainText(format('j', own?.['energy_j']));
    await expect(tile).not.toContainText('not measured');
    await expect(tile.getByRole('link')).toHaveAttribute('href', /energy_by_layer/);
  });
}

test('joules and watts have their units', async ({ page }) => {
  await page.goto(live.open(`#/analysis/energy_by_layer${query(GPU)}`));
  const head = page.getByRole('region', { name: 'Table' }).first().getByRole('columnheader');
  await expect(head.filter({ hasText: /^energy\s*mJ/ })).toHaveCount(1);
  await page.goto(live.open(`#/analysis/energy${query(GPU)}`));
  await expect(head.filter({ hasText: /^mean power\s*W|^mean\s*W/ })).not.toHaveCount(0);
});

test('a bar below zero is drawn, with its interval, on an axis', async ({ page }) => {
  const rows = await rowsOf(page, 'overhead_by_level');
  const at = rows.findIndex((row) => Number(row['overhead_ns']) < 0 && row['low_ns'] !== null);
  expect(at).toBeGreaterThanOrEqual(0);
  await page.goto(live.open(`#/analysis/overhead_by_level${query(GPU)}`));
  const track = page.getByRole('figure').getByRole('listitem').nth(at).locator('.track');
  await expect(track).toBeVisible();
  const box = async (what: string) => (await track.locator(what).boundingBox())!;
  const [bar, zero, whisker] = [await box('i'), await box('u'), await box('b')];
  expect(bar.width).toBeGreaterThan(5);
  expect(Math.abs(bar.x + bar.width - zero.x)).toBeLessThan(2);
  expect(whisker.x).toBeLessThan(bar.x); // the interval reaches further below
  const row = rows[at] as Record<string, unknown>;
  const scale = bar.width / -Number(row['overhead_ns']);
  const wide = (Number(row['high_ns']) - Number(row['low_ns'])) * scale;
  expect(Math.abs(whisker.width / wide - 1)).toBeLessThan(0.05);
  await expect(page.locator('.axis small').first()).toBeVisible();
});

test('the overview says that it shows the whole model, whatever is selected', async ({ page }) => {
  const chosen = `&layer=${encodeURIComponent(layer)}`;
  await page.goto(live.open(`#/overview${query(GPU, chosen)}`));
  const filters = page.getByRole('group', { name: 'Filters' });
  await expect(filters).toContainText('this page shows the whole model');
  await page.goto(live.open(`#/analysis/layer_latency${query(GPU, chosen)}`));
  await expect(filters).toContainText(layer);
  await expect(filters).not.toContainText('whole model');
});

test('no two layers of a table read the same', async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(live.open(`#/analysis/kernels_by_layer${query(GPU)}`));
  const names = page.getByRole('region', { name: 'Table' }).locator('button.name');
  await expect(names.first()).toBeVisible();
  const shown = await names.allInnerTexts();
  expect(shown.length).toBeGreaterThan(20);
  expect(new Set(shown).size).toBe(shown.length);
});

test('the order and the filter of a table are in the address', async ({ page, context }) => {
  await page.goto(live.open(`#/analysis/layer_information${query(GPU)}`));
  const table = page.getByRole('region', { name: 'Table' });
  const head = table.getByRole('columnheader', { name: /^index/ });
  await head.getByRole('button').click();
  await head.getByRole('button').click();
  await table.getByRole('searchbox').fill('layer3');
  await expect(page).toHaveURL(/sort=index&filter=layer3/);
  const first = await table.getByRole('row').nth(1).innerText();
  const other = await context.newPage();
  await other.goto(page.url());
  const same = other.getByRole('region', { name: 'Table' });
  await expect(same.getByRole('searchbox')).toHaveValue('layer3');
  await expect(same.getByRole('columnheader', { name: /^index/ })).toHaveAttribute(
    'aria-sort',
    'ascending',
  );
  await expect.poll(() => same.getByRole('row').nth(1).innerText()).toBe(first);
});

test('a report of several opens with their comparison', async ({ page }) => {
  await page.goto(`file://${build}both.html`);
  await expect(page.getByRole('heading', { name: 'Compare', level: 1 })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Model' }).getByRole('table')).toBeVisible();
});

test('a report compares at a batch size that one of them lacks as the server does', async ({
  page,
}) => {
  for (const place of [live, report]) {
    const both = [place.ids.cpu, place.ids.gpu].map((one) => `e=${encodeURIComponent(one)}`);
    await page.goto(place.open(`#/compare?${both.join('&')}&batch=4`));
    await settled(page);
    const layers = page.getByRole('region', { name: 'Layers' });
    await expect(layers).toContainText(/not measured: A: batch 4/);
    await expect(page.getByText('not in this report')).toHaveCount(0);
  }
});

test('a parameter that a report lacks is said, and another can be chosen', async ({ page }) => {
  await page.goto(report.open(`#/analysis/kernel_roofline${query(report.ids.gpu)}`));
  await expect(page.getByRole('figure')).toBeVisible();
  await page.getByText('attribute', { exact: true }).click();
  const said = page.getByRole('alert');
  await expect(said).toContainText('not in this report: open the .xsp file with xsp serve');
  await page.getByText('measured', { exact: true }).click();
  await expect(said).toHaveCount(0);
  await expect(page.getByRole('figure')).toBeVisible();
});

test('a report does not call unmeasured what it does not carry', async ({ page }) => {
  await page.goto(report.open(`#/timeline${query(report.ids.gpu, '&find=no+such+name')}`));
  await expect(page.getByText(/not among the spans of this report: xsp serve/)).toBeVisible();
});

for (const width of [390, 1400]) {
  test(`a comparison does not scroll sideways at ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 844 });
    const both = [CPU, GPU].map((one) => `e=${encodeURIComponent(one)}`).join('&');
    await page.goto(live.open(`#/compare?${both}`));
    await settled(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(width);
  });
}
