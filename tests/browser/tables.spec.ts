// Tables: sorted, filtered, by pointer and keys.
import type { Locator } from '@playwright/test';
import { ask, expect, live, query, test } from './page';

const table = (page: { getByRole: Locator['getByRole'] }) =>
  page.getByRole('region', { name: 'Table' });

test.beforeEach(async ({ page }) => {
  await page.goto(live.open(`#/analysis/layer_information${query(live.ids.gpu)}`));
  await expect(table(page)).toBeVisible();
});

test('a click on a heading sorts, the greatest first; another turns it round', async ({ page }) => {
  const rows = await ask(page, `/evaluations/${encodeURIComponent(live.ids.gpu)}/analyses/a2`);
  const time = rows.columns.findIndex((one) => one.name === 'latency_ns');
  const index = rows.columns.findIndex((one) => one.name === 'index');
  const sorted = [...rows.rows].sort((a, b) => Number(b[time]) - Number(a[time]));
  const heading = table(page)
    .getByRole('columnheader', { name: /^latency/ })
    .first();
  const first = table(page).getByRole('row').nth(1);

  await heading.getByRole('button').click();
  if ((await heading.getAttribute('aria-sort')) === 'ascending')
    await heading.getByRole('button').click();
  await expect(heading).toHaveAttribute('aria-sort', 'descending');
  await expect(first.getByRole('cell').first()).toHaveText(String(sorted[0]?.[index]));
  await heading.getByRole('button').click();
  await expect(heading).toHaveAttribute('aria-sort', 'ascending');
  await expect(first.getByRole('cell').first()).toHaveText(String(sorted.at(-1)?.[index]));
});

test('words and ranges filter; what is left is counted, and saved', async ({ page }) => {
  const rows = await ask(page, `/evaluations/${encodeURIComponent(live.ids.gpu)}/analyses/a2`);
  const name = rows.columns.findIndex((one) => one.name === 'name');
  const left = rows.rows.filter((row) => String(row[name]).includes('layer1/0')).length;
  const filter = table(page).getByRole('searchbox', {
    name: /^Filter the rows/,
  });
  await filter.fill('layer1/0');
  await expect(table(page)).toContainText(`${left} of ${rows.rows.length} rows`);
  const saving = page.waitForEvent('download');
  await table(page).getByRole('button', { name: 'CSV' }).click();
  const stream = await (await saving).createReadStream();
  let text = '';
  for await (const piece of stream) text += String(piece);
  expect(text.trim().split(/\r?\n/)).toHaveLength(left + 1);
  await filter.fill('latency>1000s');
  // The sentence is seen whole: the box of the rows does not cut it off.
  await expect(table(page).getByText('No row fits the filter.')).toBeInViewport({ ratio: 1 });
  await filter.fill('');
  await expect(table(page)).toContainText(`${rows.rows.length} rows`);
});

test('arrow keys move, Enter chooses the layer', async ({ page }) => {
  const body = table(page).getByRole('group', { name: /^Rows/ });
  await body.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('group', { name: 'Filters' })).toContainText('layer');
});

test('a sentence that is wider than its column wraps, and is never cut', async ({ page }) => {
  const said =
    'not settled: stopped by time with 5 of the 6 blocks that an interval takes, as it was wanted';
  const rows = await ask(page, `/evaluations/${encodeURIComponent(live.ids.gpu)}/analyses/a2`);
  const type = rows.columns.findIndex((one) => one.name === 'type');
  const made = rows.rows.map((row) => row.map((cell, at) => (at === type ? said : cell)));
  await page.route('**/analyses/layer_information*', (route) =>
    route.fulfill({ json: { ...rows, rows: made } }),
  );
  await page.setViewportSize({ width: 800, height: 900 });
  await page.reload();
  const cell = table(page).getByRole('cell', { name: said }).first();
  await expect(cell).toHaveText(said);
  const box = await cell.evaluate((one) => [one.scrollWidth - one.clientWidth, one.clientHeight]);
  expect(box[0]).toBeLessThanOrEqual(0);
  expect(box[1]).toBeGreaterThan(40);
  // The keys bring a row into view whatever the heights above it.
  await table(page).getByRole('group').focus();
  for (let i = 0; i < 30; i += 1) await page.keyboard.press('ArrowDown');
  const room = await table(page)
    .locator('tr.active')
    .evaluate((row) => {
      const all = row.closest('.scroll')!.getBoundingClientRect();
      const head = row.closest('table')!.querySelector('th')!.getBoundingClientRect();
      const own = row.getBoundingClientRect();
      return { above: own.top - head.bottom, below: all.bottom - own.bottom };
    });
  expect(room.above).toBeGreaterThanOrEqual(-1);
  expect(room.below).toBeGreaterThanOrEqual(0);
});
