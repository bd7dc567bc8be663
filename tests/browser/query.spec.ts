// Ask: SQL over one evaluation, its answer as a table or a chart, and what it refuses.
import type { Page } from '@playwright/test';
import { seriousOf } from './axe';
import { expect, GPU, live, query, report, settled, test } from './page';

const sql = (page: Page) => page.getByRole('textbox', { name: 'SQL' });
const route = (text: string) =>
  `${live.open('')}api/v1/evaluations/${encodeURIComponent(GPU)}/query?sql=${encodeURIComponent(text)}`;

test('a query, its answer, and its address', async ({ page }) => {
  await page.goto(live.open(`#/query${query(GPU)}`));
  await sql(page).fill('SELECT batch, count(*) AS layers FROM layer GROUP BY ALL ORDER BY 1');
  await page.keyboard.press('Control+Enter');
  await expect(page.getByText(/^\d+ rows in/)).toBeVisible();
  const direct = await (
    await page.request.get(route('SELECT count(DISTINCT batch) FROM layer'))
  ).json();
  await expect(page.getByRole('table').getByRole('row')).toHaveCount(direct.rows[0][0] + 1);
  const address = page.url();
  await page.getByRole('button', { name: 'Bars' }).click();
  await expect(page.getByRole('figure')).toContainText('layers by batch');
  await page.reload();
  await expect(page.getByRole('figure')).toContainText('layers by batch');
  await expect(sql(page)).toHaveValue(/count\(\*\) AS layers/);
  await page.getByRole('button', { name: 'Table', exact: true }).first().click();
  expect(page.url()).toBe(address);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('query.csv');
});

test('an example is drawn as a line for each type', async ({ page }) => {
  await page.goto(live.open(`#/query${query(GPU)}`));
  await page.getByRole('link', { name: /^Where does the time of a type go/ }).click();
  await settled(page);
  await page.getByRole('button', { name: 'Lines' }).click();
  await page.getByRole('combobox', { name: 'series column' }).selectOption('type');
  const paths = page.getByRole('figure').locator('svg path[fill=none]');
  expect(await paths.count()).toBeGreaterThan(2);
});

test('the schema has the tables and writes names into the query', async ({ page }) => {
  await page.goto(live.open(`#/query${query(GPU)}`));
  const schema = page.getByRole('complementary', { name: 'Schema' });
  await expect(schema.getByText('self_ns').first()).toBeVisible();
  for (const name of ['inference', 'kernel', 'run', 'span', 'counter'])
    await expect(schema.getByText(name, { exact: true }).first()).toBeVisible();
  await sql(page).fill('SELECT ');
  await schema.getByRole('button', { name: 'self_ns' }).first().click();
  await expect(sql(page)).toHaveValue('SELECT self_ns');
});

test('a mistake is told in words, and the page goes on', async ({ page }) => {
  // The answer of status 400 is what this test is about.
  await page.route('**/query?*', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ status: answer.status() === 400 ? 400 : 200, body: await answer.text() });
  });
  const answer = await page.request.get(route('SELECT nonsense FROM run'));
  expect(answer.status()).toBe(400);
  expect((await answer.json()).error).toContain('nonsense');
});

// The sandbox refuses files, and no query leaves anything to the next.
test('a query reads this evaluation and nothing else, and leaves nothing behind', async ({
  page,
}) => {
  for (const text of [
    "SELECT * FROM read_text('/etc/hostname')",
    "COPY (SELECT 1) TO '/tmp/written.csv'",
    "ATTACH '/tmp/other.db'",
    'DELETE FROM run',
    'SET enable_external_access = true',
  ]) {
    const answer = await page.request.get(route(text));
    expect(answer.status(), text).toBe(400);
  }
  const made = await page.request.get(
    route(
      'CREATE OR REPLACE TEMP MACRO layers(b) AS TABLE SELECT 1; CREATE TEMP TABLE t(x INT); FROM t',
    ),
  );
  expect([200, 400]).toContain(made.status());
  expect((await page.request.get(route('FROM t'))).status()).toBe(400);
  const layers = await page.request.get(
    `${live.open('')}api/v1/evaluations/${encodeURIComponent(GPU)}/analyses/layer_information?batch=1`,
  );
  expect((await layers.json()).rows.length).toBeGreaterThan(50);
  const many = await (await page.request.get(route('FROM range(1000000)'))).json();
  expect([many.rows.length, many.is_cut]).toEqual([10_000, true]);
});

test('a report has no such page', async ({ page }) => {
  await page.goto(report.open(`#/overview${query(report.ids.gpu)}`));
  await settled(page);
  await expect(page.getByRole('link', { name: 'Compare' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Ask' })).toHaveCount(0);
});

for (const theme of ['light', 'dark'] as const) {
  test(`on a phone, ${theme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(live.open(`#/query${query(GPU, '&sql=FROM+run')}`));
    await expect(page.getByText(/^\d+ rows in/)).toBeVisible();
    await settled(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      390,
    );
    expect(await seriousOf(page)).toEqual([]);
  });
}
