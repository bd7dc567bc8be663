// The flame graph: the threads' stacks as boxes, live and in a report.
import type { Page } from '@playwright/test';
import { format } from '../../web/src/data/units';
import { seriousOf } from './axe';
import { ask, expect, live, query, settled, test, WATCHED, watchedReport } from './page';

const hash = (more = '') => `#/analysis/flame_graph${query(WATCHED, more)}`;
const plot = (page: Page) => page.getByRole('group', { name: /^Stacks/ });
const box = (page: Page, name: string | RegExp) => plot(page).getByRole('button', { name }).first();
const wide = async (page: Page, name: string | RegExp) =>
  (await box(page, name).boundingBox())?.width ?? 0;

const stacks = async (page: Page) => {
  const id = encodeURIComponent(WATCHED);
  const rows = await ask(page, `/evaluations/${id}/analyses/flame_graph`);
  return rows.rows.map((row) =>
    Object.fromEntries(rows.columns.map(({ name }, at) => [name, row[at] ?? null])),
  );
};

for (const place of [
  { name: 'live', open: live.open },
  { name: 'report', open: watchedReport },
]) {
  test(`boxes are as wide as their time, ${place.name}`, async ({ page }) => {
    await page.goto(place.open(hash()));
    await expect(box(page, /^count_colours/)).toBeVisible();
    const rows = await stacks(page);
    const main = rows.find((row) => row['depth'] === 1);
    const counts = rows.find((row) => row['function'] === 'count_colours');
    const share = Number(counts?.['total_ns']) / Number(main?.['total_ns']);
    expect(share).toBeGreaterThan(0.2);
    const ratio = (await wide(page, /^count_colours/)) / (await wide(page, /^thread .*main/));
    expect(Math.abs(ratio - share)).toBeLessThan(0.01);
    // Pointing at a box shows all its facts, and a screen reader reads them.
    await box(page, /^count_colours/).hover();
    const tip = page.locator('.tip');
    await expect(tip).toContainText('count_colours');
    await expect(tip).toContainText(String(counts?.['place']));
    await expect(tip).toContainText(String(counts?.['file']));
    await expect(tip).toContainText(format('ns', counts?.['total_ns']));
    await expect(box(page, /^count_colours/)).toHaveAccessibleName(
      new RegExp(`${String(counts?.['place'])}, ${format('ns', counts?.['total_ns'])}, .* %`),
    );
  });
}

test('a click looks closer, Back goes back, an address shows it', async ({ page, context }) => {
  await page.goto(live.open(hash()));
  const before = await wide(page, /^wait_for_camera/);
  await box(page, /^wait_for_camera/).click();
  await expect(page).toHaveURL(/zoom=\d+/);
  await expect.poll(() => wide(page, /^wait_for_camera/)).toBeGreaterThan(2 * before);
  await expect(box(page, /^count_colours/)).toHaveCount(0);
  await expect(box(page, /^main.*calls what is shown/)).toBeVisible();
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(box(other, /^wait_for_camera.*100\.0 %/)).toBeVisible();
  await page.goBack();
  await expect(box(page, /^count_colours/)).toBeVisible();
  await page.getByRole('button', { name: 'Whole' }).click();
  await expect(box(page, /^process .*100\.0 %/)).toBeVisible();
});

test('the keyboard walks, looks closer and goes back', async ({ page }) => {
  await page.goto(live.open(hash()));
  await box(page, /^thread .*main/).focus();
  await page.keyboard.press('ArrowDown');
  await expect(box(page, /^<module>/)).toBeFocused();
  await expect(page.locator('.tip')).toContainText('<module>');
  await page.keyboard.press('ArrowDown');
  await expect(box(page, /^main/)).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(box(page, /^count_colours/)).toBeFocused();
  await page.keyboard.press('ArrowRight');
  await expect(box(page, /^count_colours/)).not.toBeFocused();
  await page.keyboard.press('ArrowLeft');
  await expect(box(page, /^count_colours/)).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(box(page, /^count_colours.*100\.0 %/)).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(box(page, /^main.*100\.0 %/)).toBeFocused();
  await page.keyboard.press('ArrowUp');
  await expect(box(page, /^<module>/)).toBeFocused();
});

test('a search marks what it finds, and adds it up', async ({ page }) => {
  await page.goto(live.open(hash('&zoom=all')));
  const rows = await stacks(page);
  const ns = rows
    .filter((row) => row['function'] === 'count_colours')
    .reduce((sum, row) => sum + Number(row['total_ns']), 0);
  await page.getByRole('searchbox', { name: 'Find frames by name or file' }).fill('COUNT_col');
  const said = page.getByRole('status');
  await expect(said).toContainText(`frame: ${format('ns', ns)}, `);
  await expect(box(page, /^count_colours/)).toHaveClass(/found/);
  await expect(box(page, /^wait_for_camera/)).not.toHaveClass(/found/);
  await expect(page).toHaveURL(/find=COUNT_col/);
  await page.getByRole('searchbox', { name: 'Find frames by name or file' }).fill('nonesuch');
  await expect(said).toHaveText('none');
});

test('another time may be drawn, without asking anew', async ({ page }) => {
  await page.goto(live.open(hash()));
  await expect(box(page, /^wait_for_camera/)).toBeVisible();
  const sleeping = await wide(page, /^wait_for_camera/);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.getByRole('combobox', { name: 'time' }).selectOption('waiting');
  await expect.poll(() => wide(page, /^wait_for_camera/)).toBeGreaterThan(sleeping);
  expect(asked.filter((url) => url.includes('flame_graph'))).toEqual([]);
});

test('what is too narrow for a box is together, and said', async ({ page }) => {
  const id = encodeURIComponent(WATCHED);
  const rows = await ask(page, `/evaluations/${id}/analyses/flame_graph`);
  const at = (name: string) => rows.columns.findIndex((one) => one.name === name);
  const thread = rows.rows.find((row) => row[at('depth')] === 1) ?? [];
  const frame = (depth: number, name: string, ns: number) =>
    thread.map((cell, index) => {
      if (index === at('depth')) return depth;
      if (index === at('tree') || index === at('function')) return name;
      if (index === at('kind')) return 'native';
      if (index === at('total_ns')) return ns;
      return index === at('self_ns') ? (depth === 1 ? 0 : ns) : cell;
    });
  const small = Array.from({ length: 40 }, (_, index) => frame(2, `tiny_${index}`, 1000 - index));
  const sum = small.reduce((total, row) => total + Number(row[at('total_ns')]), 0);
  const made = [
    frame(0, 'process 1', 1e6),
    frame(1, 'thread 1', 1e6),
    frame(2, 'large', 9e5),
    ...small,
  ];
  await page.route('**/analyses/flame_graph*', (route) =>
    route.fulfill({ json: { ...rows, rows: made, total_rows: made.length } }),
  );
  await page.goto(live.open(hash()));
  await expect(box(page, new RegExp(`^40 smaller, ${format('ns', sum)}`))).toBeVisible();
  await expect(box(page, /^frames under 1\.0 %/)).toBeVisible();
  await box(page, /^40 smaller/).hover();
  await expect(page.locator('.tip')).toContainText('tiny_0');
  await expect(page.locator('.tip')).toContainText('34 more');
});

test('the model divides into modules, layers and kernels, which add up', async ({ page }) => {
  const id = encodeURIComponent(live.ids.gpu);
  const rows = await ask(page, `/evaluations/${id}/analyses/model_flame`);
  const at = (name: string) => rows.columns.findIndex((one) => one.name === name);
  const model = await ask(page, `/evaluations/${id}/analyses/model_information`);
  const latency = model.rows[0]?.[model.columns.findIndex((one) => one.name === 'latency_ns')];
  expect(rows.rows[0]?.[at('share_ns')]).toBeCloseTo(Number(latency), 0);
  const top = rows.rows.filter((row) => row[at('depth')] === 2);
  const sum = top.reduce((total, row) => total + Number(row[at('share_pct')]), 0);
  expect(sum).toBeCloseTo(100, 6);
  await page.goto(live.open(`#/analysis/model_flame${query(live.ids.gpu)}`));
  const parts = page.getByRole('group', { name: /^Parts/ });
  const part = (name: RegExp) => parts.getByRole('button', { name }).first();
  await expect(part(/^resnet50.*100\.0 %/)).toBeVisible();
  const idle = top.find((row) => row[at('name')] === 'no kernel runs');
  const wideOf = async (name: RegExp) => (await part(name).boundingBox())?.width ?? 0;
  const ratio = (await wideOf(/^no kernel runs/)) / (await wideOf(/^resnet50/));
  expect(Math.abs(ratio - Number(idle?.[at('share_pct')]) / 100)).toBeLessThan(0.01);
  await part(/^layer4/).click();
  await expect(part(/^layer4.*100\.0 %/)).toBeVisible();
  await page.getByRole('searchbox', { name: /^Find/ }).fill('batch_norm');
  await expect(page.getByRole('status')).toContainText('frame');
});

for (const theme of ['light', 'dark'] as const) {
  test(`everybody can read it, on a phone as well, ${theme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(live.open(hash()));
      await expect(box(page, /^thread .*main/)).toBeVisible();
      await settled(page);
      const scrolls = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(scrolls).toBeLessThanOrEqual(width);
      expect(await seriousOf(page)).toEqual([]);
    }
  });
}
