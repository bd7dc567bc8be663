// The critical path on the timeline, and its parts by name.
import type { Rows } from '../../web/src/data/types';
import { ask, expect, GPU, live, query, report, test } from './page';

const path = `/evaluations/${encodeURIComponent(GPU)}/analyses/critical_path?batch=1` as const;

test('the links follow each other, and add up to the step', async ({ page }) => {
  const rows = (await ask(page, path)) as Rows;
  const at = (name: string) => rows.columns.findIndex((one) => one.name === name);
  const [start, duration] = [at('start_ns'), at('duration_ns')];
  let end = 0;
  for (const row of rows.rows) {
    expect(row[start]).toBe(end);
    end += Number(row[duration]);
  }
  expect(rows.rows.length).toBeGreaterThan(100);
  // The whole is the inference that was recorded: the model's span of the same begin.
  const [first] = rows.rows;
  const id = encodeURIComponent(GPU);
  const timeline = (await ask(
    page,
    `/evaluations/${id}/timeline?run=${first?.[at('run')]}`,
  )) as unknown as { iterations: { start_ns: number[]; duration_ns: number[] } };
  const index = timeline.iterations.start_ns.indexOf(Number(first?.[at('moment_ns')]));
  expect(index).toBeGreaterThanOrEqual(0);
  expect(timeline.iterations.duration_ns[index]).toBe(end);
});

for (const place of [live, report]) {
  test(`the timeline draws it and divides it by name, ${place.name}`, async ({ page }) => {
    await page.goto(place.open(`#/timeline${query(place.ids.gpu, '&batch=1')}`));
    const stage = page.locator('canvas[data-loading="0"]');
    await expect(stage).toBeVisible({ timeout: 120_000 });
    const before = await stage.screenshot();
    const tools = page.getByRole('toolbar', { name: 'Timeline' });
    await tools.getByRole('button', { name: 'critical path' }).click();
    await expect(page).toHaveURL(/path=1/);
    const panel = page.getByRole('region', { name: 'Critical path' });
    await expect(panel).toContainText(/the median inference takes: [\d.]+ ms in \d+ links/);
    const shares = await panel.getByRole('row').locator('td.bar').allInnerTexts();
    expect(shares.length).toBeGreaterThan(8);
    await panel.getByRole('button', { name: 'Show it' }).click();
    await expect(
      panel.getByRole('row').filter({ hasText: 'cudaLaunchKernel' }).first(),
    ).toBeVisible();
    await expect.poll(async () => (await stage.screenshot()).equals(before)).toBe(false);
  });
}
