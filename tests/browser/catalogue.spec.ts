// The header of an added analysis is enough to draw it: the page has no names of analyses.
// (tests/integration/drop_in.sh tests that the build finds such a file and serves it.)
import { ask, expect, live, query, test } from './page';

test('an analysis of which the page has never heard', async ({ page }) => {
  const known = await ask(page, '/catalogue');
  const model = known.analyses.find((one) => one.name === 'latency_by_layer_type');
  const id = encodeURIComponent(live.ids.gpu);
  const rows = await ask(page, `/evaluations/${id}/analyses/latency_by_layer_type`);
  const dropped = {
    ...model,
    id: 'z9',
    name: 'dropped_in',
    title: 'Dropped in',
    question: 'Does an analysis need code?',
  };
  await page.route('**/api/v1/catalogue', (route) =>
    route.fulfill({ json: { ...known, analyses: [...known.analyses, dropped] } }),
  );
  await page.route('**/analyses/dropped_in*', (route) => route.fulfill({ json: rows }));
  await page.goto(live.open(`#/analysis${query(live.ids.gpu)}`));
  await page.getByRole('link', { name: /Dropped in/ }).click();
  await expect(page.getByRole('heading', { name: /Dropped in/, level: 1 })).toBeVisible();
  await expect(page.getByText('Does an analysis need code?').first()).toBeVisible();
  const first = String(rows.rows[0]?.[rows.columns.findIndex((one) => one.unit === 'text')]);
  await expect(page.getByRole('region', { name: 'Table' })).toContainText(first);
});
