// The graph of the layers: modules open and close, colours, the keyboard, and two thousand nodes.
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import type { Rows } from '../../web/src/data/types';
import { seriousOf } from './axe';
import { ask, CPU, expect, GPU, live, longestFrame, query, report, settled, test } from './page';

const graph = (page: Page) => page.getByRole('group', { name: /^Graph of the layers/ });
const nodes = (page: Page) => graph(page).locator('[data-node]');
const open = (page: Page, id: string, more = '') =>
  page.goto(live.open(`#/analysis/layer_graph${query(id, more)}`));

test('the edges of ONNX Runtime are data, and have branches', async ({ page }) => {
  const answer = (await ask(page, `/evaluations/${CPU}/analyses/layer_graph`)) as Rows;
  const at = (name: string) => answer.columns.findIndex((one) => one.name === name);
  expect(new Set(answer.rows.map((row) => row[at('edges')]))).toEqual(new Set(['data']));
  // The sums of mobilenet's blocks take two results.
  const inputs = answer.rows.map((row) =>
    String(row[at('inputs')] ?? '')
      .split(' ')
      .filter(Boolean),
  );
  expect(inputs.filter((one) => one.length === 2).length).toBeGreaterThan(5);
  for (const [index, own] of inputs.entries())
    for (const input of own) expect(Number(input)).not.toBe(answer.rows[index]?.[at('index')]);
  await open(page, CPU);
  await expect(page.getByText('a layer takes the result of another')).toBeVisible();
  await expect(nodes(page).first()).toBeVisible();
});

test('where the framework tells no edges, the page says that they are the order', async ({
  page,
}) => {
  await open(page, GPU);
  await expect(page.getByText('the order of execution alone')).toBeVisible();
});

test('modules open and close, by pointer and by keys, and the address has them', async ({
  page,
}) => {
  await open(page, GPU, '&open=none');
  const module = graph(page).getByRole('button', { name: /^module layer1:/ });
  await expect(module).toBeVisible();
  const before = await nodes(page).count();
  await module.click();
  await expect(module).toHaveCount(0);
  await expect(page).toHaveURL(/open=layer1/);
  expect(await nodes(page).count()).toBeGreaterThan(before);
  const inside = graph(page)
    .getByRole('button', { name: /^(module|layer) layer1\// })
    .first();
  await inside.focus();
  await page.keyboard.press('Escape');
  await expect(module).toBeVisible();
  await module.focus();
  await page.keyboard.press('Enter');
  await expect(module).toHaveCount(0);
  await page.getByRole('button', { name: 'Close all' }).click();
  await expect(nodes(page)).toHaveCount(before);
});

test('the shares of the modules add up to those of the layers', async ({ page }) => {
  const answer = (await ask(
    page,
    `/evaluations/${encodeURIComponent(GPU)}/analyses/layer_graph`,
  )) as Rows;
  const at = answer.columns.findIndex((one) => one.name === 'share_pct');
  const whole = answer.rows.reduce((sum, row) => sum + Number(row[at]), 0);
  const flame = (await ask(
    page,
    `/evaluations/${encodeURIComponent(GPU)}/analyses/model_flame`,
  )) as Rows;
  const own = (name: string) => flame.columns.findIndex((one) => one.name === name);
  const idle = flame.rows
    .filter((row) => row[own('depth')] === 2 && row[own('type')] === 'idle')
    .reduce((sum, row) => sum + Number(row[own('share_pct')]), 0);
  expect(whole + idle).toBeCloseTo(100, 6);
});

test('colours by bound, and by precision; a selected layer is marked', async ({ page }) => {
  await open(page, GPU, '&open=all');
  await page.getByRole('combobox', { name: 'colour of the graph' }).selectOption('bound');
  const figure = page.getByRole('figure');
  await expect(figure.locator('.legend').getByText('memory', { exact: true })).toBeVisible();
  await page.getByRole('combobox', { name: 'colour of the graph' }).selectOption('precision');
  await expect(nodes(page).first()).toContainText('float32');
  await nodes(page).first().click();
  await expect(page).toHaveURL(/layer=/);
  await expect(graph(page).locator('.chosen')).toHaveCount(1);
});

test('what was not measured is said: energy', async ({ page }) => {
  await open(page, CPU, '&colour=energy');
  await expect(
    page
      .getByRole('figure')
      .getByText(/not measured:/)
      .first(),
  ).toBeVisible();
});

test('two thousand nodes stay fluid', async ({ page }) => {
  const count = 2000;
  await page.route('**/analyses/layer_graph*', async (route) => {
    const answer = (await (await route.fetch()).json()) as Rows;
    const row = answer.rows[0] ?? [];
    const put = (values: Record<string, string | number | boolean | null>) =>
      answer.columns.map(({ name }, at) =>
        name in values ? (values[name] ?? null) : (row[at] ?? null),
      );
    answer.rows = Array.from({ length: count }, (_, at) => {
      const inputs = [at - 1, ...(at % 10 === 0 ? [at - 10] : [])].filter((one) => one >= 0);
      const name = `block${Math.floor(at / 20)}/layer${at}`;
      return put({ index: at, name, label: name, inputs: inputs.join(' '), holds_layers: false });
    });
    answer.total_rows = count;
    await route.fulfill({ json: answer });
  });
  await open(page, CPU, '&open=all');
  await expect(nodes(page).first()).toBeVisible({ timeout: 120_000 });
  // Only what is in view is drawn, so a step of scrolling costs a few nodes, not thousands.
  expect(await nodes(page).count()).toBeLessThan(150);
  await nodes(page).first().focus();
  await page.keyboard.press('End');
  await expect(graph(page).getByRole('button', { name: /layer1999:/ })).toBeFocused();
  const slow = await longestFrame(graph(page), 40, -150);
  expect(slow).toBeLessThan(500); // a frame, on a busy machine without a GPU
});

test('a saved picture has all nodes, and their texts', async ({ page }) => {
  const answer = (await ask(page, `/evaluations/${CPU}/analyses/layer_graph`)) as Rows;
  await page.setViewportSize({ width: 700, height: 500 });
  await open(page, CPU, '&open=all');
  await expect(nodes(page).first()).toBeVisible({ timeout: 120_000 });
  await settled(page);
  await page.getByRole('button', { name: 'Fit' }).click();
  const inView = await nodes(page).count();
  await page.getByRole('figure').getByText('Save', { exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('figure').getByRole('button', { name: 'SVG', exact: true }).click(),
  ]);
  const svg = readFileSync(await download.path(), 'utf8');
  const texts = new Set([...svg.matchAll(/<text[^>]*>([^<]*)</g)].map((one) => one[1]));
  const label = answer.columns.findIndex((one) => one.name === 'label');
  const last = String(answer.rows.at(-1)?.[label]);
  expect([...texts].some((one) => one?.startsWith(last.slice(0, 8)))).toBe(true);
  const [, height] = /<svg[^>]* height="(\d+)"/.exec(svg) ?? [];
  expect(Number(height)).toBeGreaterThan(40 * answer.rows.length);
  expect(texts.has('Fit')).toBe(false);
  // The page itself is as before.
  await expect.poll(() => nodes(page).count()).toBe(inView);
});

test('a saved picture has the frames of the modules', async ({ page }) => {
  await page.setViewportSize({ width: 1400, height: 900 });
  await open(page, GPU, '&open=layer1');
  await expect(nodes(page).first()).toBeVisible({ timeout: 120_000 });
  await settled(page);
  const names = graph(page).getByRole('button', { name: /^− / });
  await expect(names.first()).toBeVisible();
  const count = await names.count();
  await page.getByRole('figure').getByText('Save', { exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('figure').getByRole('button', { name: 'SVG', exact: true }).click(),
  ]);
  const svg = readFileSync(await download.path(), 'utf8');
  const number = (box: string, name: string) =>
    Number(new RegExp(` ${name}="([\\d.]+)"`).exec(box)?.[1]);
  const dashed = [...svg.matchAll(/<rect[^>]*stroke-dasharray="\d[^>]*>/g)].map((one) => one[0]);
  expect(dashed.length).toBe(count);
  // A frame is around nodes, which are boxes of their own.
  for (const frame of dashed) {
    expect(number(frame, 'width')).toBeGreaterThan(100);
    expect(number(frame, 'height')).toBeGreaterThan(100);
  }
});

test('a report has the graph, too', async ({ page }) => {
  await page.goto(report.open(`#/analysis/layer_graph${query(report.ids.cpu)}`));
  await expect(nodes(page).first()).toBeVisible();
});

for (const theme of ['light', 'dark'] as const) {
  for (const colour of ['time', 'type']) {
    test(`by ${colour} on a phone, ${theme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width: 390, height: 844 });
      await open(page, GPU, `&colour=${colour}`);
      await expect(nodes(page).first()).toBeVisible();
      await settled(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
        390,
      );
      expect(await seriousOf(page)).toEqual([]);
    });
  }
}
