// The timeline's table by name, its colours, its runs, and the steps of a watched program.
import type { Page } from '@playwright/test';
import { format } from '../../web/src/data/units';
import { ask, expect, live, query, report, settled, test, WATCHED } from './page';

const id = encodeURIComponent(live.ids.gpu);
const stage = (page: Page) => page.locator('canvas[data-loading]');
const measured = (page: Page) => page.getByRole('region', { name: 'Measured' });
const loaded = (page: Page) => expect(stage(page)).toHaveAttribute('data-loading', '0');

interface Name {
  name: string;
  spans: number;
  time_ns: number;
}
// A stretch inside the median inference of run 4, which a report holds in full detail.
async function stretch(page: Page): Promise<{ begin: number; end: number; names: Name[] }> {
  const address = `${live.open('')}api/v1/evaluations/${id}/timeline`;
  const run = await (await page.request.get(`${address}?run=4`)).json();
  const at = run.iterations.iteration.indexOf(run.representative);
  const begin = run.iterations.start_ns[at] + 500_000;
  const end = begin + 2_000_000;
  const asked = await page.request.get(`${address}/names?run=4&from=${begin}&to=${end}`);
  return { begin, end, names: (await asked.json()).names };
}
const openAt = (page: Page, place: typeof live, begin: number, end: number, more = '') =>
  page.goto(
    place.open(`#/timeline${query(place.ids.gpu, `&run=4&begin=${begin}&end=${end}${more}`)}`),
  );
// Returns the text of the region when it has its answer.
async function said(page: Page): Promise<string> {
  await expect(measured(page)).toHaveAttribute('aria-busy', 'false');
  await expect(measured(page).getByRole('row').nth(1)).toBeVisible();
  return measured(page).innerText();
}

for (const place of [live, report]) {
  test(`a stretch by name is the same at every zoom, ${place.name}`, async ({ page }) => {
    const { begin, end, names } = await stretch(page);
    await openAt(page, place, begin, end);
    const near = await said(page);
    for (const one of names.slice(0, 5)) {
      const row = measured(page)
        .getByRole('row')
        .filter({ hasText: one.name.slice(0, 12) });
      await expect(row.first()).toContainText(String(one.spans));
    }
    await expect(measured(page)).toContainText(`${names.length} rows`);
    await page.getByRole('button', { name: 'whole run' }).click();
    await expect(page).toHaveURL(/from=-\d+/);
    await loaded(page);
    expect(await said(page)).toBe(near);
    // From an address with another view, too.
    await openAt(page, place, begin, end, '&from=0&to=3000000000');
    await page.reload();
    expect(await said(page)).toBe(near);
  });
}

test('a report answers what the server answers, of the whole run', async ({ page }) => {
  await openAt(page, live, 0, 3_700_000_000);
  const served = await said(page);
  await openAt(page, report, 0, 3_700_000_000);
  expect(await said(page)).toBe(served);
});

test('the view by name, by a key; the table sorts and is let go', async ({ page }) => {
  await page.goto(live.open(`#/timeline${query(live.ids.gpu)}`));
  await loaded(page);
  await stage(page).focus();
  await page.keyboard.press('t');
  await said(page);
  await expect(page).toHaveURL(/begin=\d+&end=\d+/);
  const head = measured(page).getByRole('columnheader', { name: /^spans/ });
  await head.getByRole('button').click();
  await expect(head).toHaveAttribute('aria-sort', 'descending');
  await expect(measured(page).getByRole('row').nth(1)).toContainText('cudaLaunchKernel');
  await page.keyboard.press('Escape');
  await expect(measured(page)).toHaveCount(0);
  await expect(page).not.toHaveURL(/begin=/);
});

const legend = (page: Page) => page.getByRole('group', { name: 'Types of layers' });
const colourOf = (page: Page, type: string) =>
  legend(page)
    .getByRole('button', { name: type, exact: true })
    .locator('i')
    .evaluate((one) => getComputedStyle(one).backgroundColor);

for (const theme of ['light', 'dark'] as const) {
  test(`a type of layer has one colour in every view and after a reload, ${theme}`, async ({
    page,
  }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.goto(live.open(`#/analysis/layer_latency${query(live.ids.gpu)}`));
    const figure = page.getByRole('figure').first();
    const types = ['aten::_convolution', 'aten::batch_norm', 'aten::relu_', 'aten::linear'];
    const inChart = async (type: string) =>
      figure
        .locator('.legend > span', { hasText: type })
        .locator('i')
        .evaluate((one) => getComputedStyle(one).backgroundColor);
    await expect(figure.locator('.legend')).toBeVisible();
    const charted = await Promise.all(types.map(inChart));
    expect(new Set(charted).size).toBe(types.length);
    for (const turn of ['first', 'reloaded']) {
      if (turn === 'first') await page.goto(live.open(`#/timeline${query(live.ids.gpu)}`));
      else await page.reload();
      await loaded(page);
      await expect(legend(page)).toBeVisible();
      const drawn = await Promise.all(types.map((type) => colourOf(page, type)));
      expect(drawn).toEqual(charted);
    }
  });
}

test('an entry of the legend dims all other layers', async ({ page }) => {
  await page.goto(live.open(`#/timeline${query(live.ids.gpu)}`));
  await loaded(page);
  const entry = legend(page).getByRole('button', { name: 'aten::_convolution' });
  const painted = () =>
    stage(page).evaluate((one: HTMLCanvasElement) => one.toDataURL('image/png'));
  await expect(entry).toBeVisible();
  const before = await painted();
  await entry.click();
  await expect(entry).toHaveAttribute('aria-pressed', 'true');
  await expect.poll(painted).not.toBe(before);
  await entry.click();
  await expect.poll(painted).toBe(before);
});

test('lanes with nothing in view are hidden on demand', async ({ page }) => {
  await page.goto(live.open(`#/timeline${query(live.ids.gpu)}`));
  await loaded(page);
  const height = async () => (await stage(page).boundingBox())?.height ?? 0;
  const before = await height();
  await page.getByRole('button', { name: 'hide empty' }).click();
  await expect(page.getByRole('button', { name: /^[1-9] hidden$/ })).toBeVisible();
  await expect.poll(height).toBeLessThan(before);
  await page.getByRole('button', { name: /hidden$/ }).click();
  await expect.poll(height).toBe(before);
});

test('the menu of runs and the header have one batch size', async ({ page }) => {
  await page.goto(live.open(`#/timeline${query(live.ids.gpu)}`));
  const runs = page.getByRole('combobox', { name: /^run/ });
  const header = page.getByLabel('Batch size');
  await expect(runs.locator('option:checked')).toHaveText(/^4: batch 1 ·/);
  await runs.selectOption('10');
  await expect(header).toHaveValue('4');
  await expect(runs.locator('option:checked')).toHaveText(/^10: batch 4 ·/);
  await loaded(page);
  await header.selectOption('1');
  await expect(runs.locator('option:checked')).toHaveText(/^4: batch 1 ·/);
  // A link that names the run alone.
  await page.goto(live.open(`#/timeline${query(live.ids.gpu, '&run=8')}`));
  await page.reload();
  await expect(header).toHaveValue('4');
});

test('a run that recording distorts does not claim proportions', async ({ page }) => {
  for (const [run, words] of [
    ['4', /Order and proportion hold/],
    ['5', /It is distorted: the order of the spans holds/],
  ] as const) {
    await page.goto(live.open(`#/timeline${query(live.ids.gpu, `&run=${run}`)}`));
    await page.reload();
    await expect(page.getByText(words)).toBeVisible();
  }
  await expect(page.getByText(/proportion hold/)).toHaveCount(0);
});

test('the timeline of a program that marks its steps opens with a whole step', async ({ page }) => {
  const rows = await ask(page, `/evaluations/${encodeURIComponent(WATCHED)}/analyses/steps`);
  const at = (name: string) => rows.columns.findIndex((one) => one.name === name);
  const steady = rows.rows.find((row) => row[at('part')] === 'steady');
  await page.goto(live.open(`#/timeline${query(WATCHED)}`));
  await loaded(page);
  await expect(page.getByRole('button', { name: 'median step' })).toBeVisible();
  await page.getByRole('button', { name: 'whole run' }).click();
  await expect(page).toHaveURL(/from=-/);
  await page.getByRole('button', { name: 'median step' }).click();
  await expect(page).toHaveURL(/from=\d/);
  await settled(page);
  const view = new URLSearchParams(page.url().split('?').at(-1));
  const shown = (Number(view.get('to')) - Number(view.get('from'))) / 1.12;
  const step = Number(steady?.[at('step_ns')]);
  expect(shown, format('ns', step)).toBeGreaterThan(0.5 * step);
  expect(shown).toBeLessThan(2 * step);
});
