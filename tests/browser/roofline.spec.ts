// The roofline: its sets of points, the facts of a point, and its links.
import type { Page } from '@playwright/test';
import { ask, expect, live, query, report, test } from './page';

const open = (page: Page, more = '', place = live) =>
  page.goto(place.open(`#/analysis/kernel_roofline${query(place.ids.gpu, more)}`));
const sets = (page: Page) => page.getByRole('group', { name: 'Points' });

for (const place of [live, report]) {
  test(`a link shows the points that its sender saw, ${place.name}`, async ({ page, context }) => {
    await open(page, '', place);
    await sets(page).getByRole('button', { name: 'layers', exact: true }).click();
    await expect(page).toHaveURL(/points=layer_counted_roofline/);
    await page.getByRole('combobox', { name: 'colour' }).selectOption('type');
    await expect(page).toHaveURL(/colour=type/);
    const other = await context.newPage();
    await other.goto(page.url());
    const layers = sets(other).getByRole('button', { name: 'layers', exact: true });
    await expect(layers).toHaveAttribute('aria-pressed', 'true');
    await expect(other.getByRole('combobox', { name: 'colour' })).toHaveValue('type');
    await expect(other.getByText(/^These points are those of/)).toBeVisible();
    await sets(other).getByRole('button', { name: 'kernels', exact: true }).click();
    await expect(other).not.toHaveURL(/points=/);
  });
}

test('a point says what it is, is chosen by a click, opened by a double click', async ({
  page,
}) => {
  const id = encodeURIComponent(live.ids.gpu);
  const rows = await ask(page, `/evaluations/${id}/analyses/kernel_roofline`);
  const of = (name: string) => rows.columns.findIndex((one) => one.name === name);
  const time = of('latency_ns');
  const placed = rows.rows.filter((row) => Number(row[of('intensity_flops_per_byte')]) > 0);
  const longest = [...placed].sort((a, b) => Number(b[time]) - Number(a[time]))[0];

  await open(page);
  // The largest point has the longest time: its area is its share of the time.
  const largest = page.locator('circle.point').first();
  await expect(largest).toBeVisible();
  const radii = await page
    .locator('circle.point')
    .evaluateAll((all) => all.map((one) => Number(one.getAttribute('r'))));
  expect(radii[0]).toBe(Math.max(...radii));
  expect(radii[0]).toBeGreaterThan(2 * Math.min(...radii));
  await largest.hover({ force: true });
  const label = String(longest?.[of('label')]);
  await expect(page.locator('.tip')).toContainText(label);
  await expect(page.locator('.tip')).toContainText('latency');
  await page.mouse.down();
  await page.mouse.up();
  const chip = page.getByRole('group', { name: 'Filters' });
  await expect(chip).toContainText(String(longest?.[of('name')]));
  await expect(page.locator('circle.ring')).not.toHaveCount(0);
  await chip.getByRole('button', { name: 'Clear the kernel' }).click();
  await largest.dblclick({ force: true });
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(label);
});

test('a batch size goes along to the other points', async ({ page }) => {
  await open(page, '&points=layer_counted_roofline&batch=4');
  const asked = page.waitForRequest(/analyses\/layer_counted_roofline\?batch=1$/);
  await expect(sets(page).getByRole('button', { name: 'layers', exact: true })).toHaveAttribute(
    'aria-pressed',
    'true',
  );
  await page.getByLabel('Batch size').selectOption('1');
  await asked;
});
