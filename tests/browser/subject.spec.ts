// The page of a layer and of a kernel: all its facts over the batch sizes, its parts, and its links.
import type { Page } from '@playwright/test';
import type { Cell, Rows } from '../../web/src/data/types';
import { ask, expect, live, query, report, test, type Place } from './page';

const layer = 'layer1/0/conv2/_convolution';
const id = encodeURIComponent(live.ids.gpu);

const at = (rows: Rows, row: Cell[] | undefined, name: string) =>
  row?.[rows.columns.findIndex((one) => one.name === name)];
const about = (rows: Rows, column: string, value: string) =>
  rows.rows.filter((row) => at(rows, row, column) === value);
const openLayer = (page: Page, place: Place, more = '') =>
  page.goto(place.open(`#/layer/${encodeURIComponent(layer)}${query(place.ids.gpu, more)}`));
async function longestKernel(
  page: Page,
): Promise<{ name: string; label: string; calls: Cell[][] }> {
  const rows = await ask(page, `/evaluations/${id}/analyses/kernels_by_name?batch=1`);
  const name = String(at(rows, rows.rows[0], 'name'));
  const all = await ask(page, `/evaluations/${id}/analyses/kernel_information?batch=1`);
  return { name, label: String(at(rows, rows.rows[0], 'label')), calls: about(all, 'name', name) };
}
const openKernel = (page: Page, place: Place, name: string, more = '') =>
  page.goto(place.open(`#/kernel/${encodeURIComponent(name)}${query(place.ids.gpu, more)}`));

for (const place of [live, report]) {
  test(`a layer over the batch sizes, ${place.name}`, async ({ page }) => {
    await openLayer(page, place);
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(layer);
    const answer = await ask(page, `/evaluations/${id}/analyses/layer_information?batch=1`);
    const [row] = about(answer, 'name', layer);
    const latency = (Number(at(answer, row, 'latency_ns')) / 1e3).toFixed(2);
    await expect(page.getByRole('region', { name: 'Latency, on the host' })).toContainText(latency);
    await expect(page.getByRole('region', { name: 'Share' })).toContainText(/of \d+ layers/);
    await expect(page.getByRole('region', { name: 'Energy' })).toContainText('repeated alone');
    await expect(page.getByRole('region', { name: 'Bound by' })).toContainText('of what');
    await expect(page.getByRole('figure', { name: 'latency over batch sizes' })).toBeVisible();
    const every = page.getByRole('region', { name: 'Every figure over batch sizes' });
    const latencies = every
      .getByRole('table', { name: 'Layer information' })
      .getByRole('row', { name: /^latency/ });
    await expect(latencies.getByRole('cell')).toHaveCount(3); // two batch sizes and the unit
    await expect(latencies.getByRole('cell').first()).toHaveText(latency);
  });

  test(`a kernel and the layers that call it, ${place.name}`, async ({ page }) => {
    const { name, label, calls } = await longestKernel(page);
    await openKernel(page, place, name);
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(label);
    const time = page.getByRole('region', { name: 'Time in an inference' });
    await expect(time).toContainText(`${calls.length} executions`);
    await expect(page.getByRole('region', { name: 'Occupancy', exact: true })).toContainText('%');
    const layers = page.getByRole('region', { name: 'The layers that call it' });
    await expect(layers).toContainText(`${calls.length} rows`);
    await expect(page.getByRole('figure', { name: /^one execution over/ })).toBeVisible();
    await layers
      .getByRole('link', { name: /^Page of the layer/ })
      .first()
      .click({ force: true });
    await expect(page.getByRole('region', { name: 'Its kernels' })).toBeVisible();
  });
}

test('the roofline marks the layer; another point leads to its page', async ({ page }) => {
  await openLayer(page, live);
  const roofline = page.getByRole('region', { name: 'Roofline' });
  await expect(roofline.locator('circle.ring')).toHaveCount(1);
  const points = roofline.getByRole('slider');
  await points.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  const named = (await points.getAttribute('aria-valuetext')) ?? '';
  const other = named.split(',')[0] as string;
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(other);
  await expect(roofline.locator('circle.ring')).not.toHaveCount(0);
});

test('from a layer to its kernel, and to the timeline', async ({ page }) => {
  await openLayer(page, live);
  const kernels = page.getByRole('region', { name: 'Its kernels' });
  const first = kernels.getByRole('row').nth(1);
  await first.hover();
  await first.getByRole('link', { name: /^Page of the kernel/ }).click();
  await expect(page.getByRole('region', { name: 'The layers that call it' })).toBeVisible();
  await page.goBack();
  await page.getByRole('link', { name: 'in the timeline' }).click();
  await expect(page.getByRole('searchbox', { name: /^Search by name/ })).toHaveValue(layer);
});

test('a kernel that does not run at the batch size says where it does', async ({ page }) => {
  const one = await ask(page, `/evaluations/${id}/analyses/kernels_by_name?batch=1`);
  const four = await ask(page, `/evaluations/${id}/analyses/kernels_by_name?batch=4`);
  const names = one.rows.map((row) => String(at(one, row, 'name')));
  const only = names.find((name) => about(four, 'name', name).length === 0) as string;
  await openKernel(page, live, only, '&batch=4');
  await expect(page.getByText('It does not run at batch 4')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Time in an inference' })).toContainText('us');
});

test('the full name of a kernel, and nothing of one that is not there', async ({ page }) => {
  const rows = await ask(page, `/evaluations/${id}/analyses/kernels_by_name?batch=1`);
  const long = rows.rows.find((row) => at(rows, row, 'label') !== at(rows, row, 'name'));
  const name = String(at(rows, long, 'name'));
  await openKernel(page, live, name);
  await page.getByText('full name', { exact: true }).click();
  await expect(page.getByText(name, { exact: true })).toBeVisible();
  await openKernel(page, live, 'no such kernel');
  await expect(page.getByText('Nothing is known of a kernel of this name')).toBeVisible();
});
