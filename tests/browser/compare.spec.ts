// Evaluations side by side, live and in a report.
import { format } from '../../web/src/data/units';
import { ask, expect, live, report, test, type Place } from './page';

const both = (place: Place) =>
  place.open(
    `#/compare?e=${encodeURIComponent(place.ids.cpu)}&e=${encodeURIComponent(place.ids.gpu)}`,
  );

test('two that are ticked in the list are compared', async ({ page }) => {
  await page.goto(live.open('#/home'));
  await page.getByRole('checkbox', { name: `Compare ${live.ids.cpu}` }).check();
  await expect(page.getByText('Tick two to six')).toBeVisible();
  await page.getByRole('checkbox', { name: `Compare ${live.ids.gpu}` }).check();
  await page.getByRole('link', { name: 'Compare 2 evaluations' }).click();
  await expect(page.getByRole('heading', { name: 'Compare', level: 1 })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Model' }).getByRole('table')).toBeVisible();
});

for (const place of [live, report]) {
  test(`the model, what differs, layers and kernels, ${place.name}`, async ({ page }) => {
    await page.goto(both(place));
    const model = page.getByRole('region', { name: 'Model' });
    for (const kind of ['cpu', 'gpu'] as const) {
      const id = encodeURIComponent(live.ids[kind]);
      const rows = await ask(page, `/evaluations/${id}/analyses/a1`);
      const at = rows.columns.findIndex((one) => one.name === 'latency_ns');
      const latency = Number(rows.rows[0]?.[at]) / 1e6;
      // Both are in milliseconds, rounded to the decimals of their column.
      const isShown = async () =>
        (await model.innerText())
          .split(/[^\d.]+/)
          .some((text) => Math.abs(Number(text) - latency) <= 0.005 * latency);
      await expect.poll(isShown).toBe(true);
    }
    const differs = page.getByRole('region', { name: 'What differs' });
    await expect(differs).toContainText('onnxruntime');
    await expect(differs).toContainText('torch');
    await expect(differs).toContainText('NVIDIA H200');
    // The shares of the causes add up to the whole, up to their rounding.
    const causes = page.getByRole('region', { name: 'What the difference is for' });
    await expect(causes.getByRole('row', { name: /^all together/ })).toContainText('100');
    const shares = (await causes.getByRole('row').allInnerTexts())
      .filter((text) => !text.startsWith('all together'))
      .flatMap((text) => text.match(/([−\d.]+)\s*%/)?.[1] ?? [])
      .map((text) => Number(text.replace('−', '-')));
    expect(shares.length).toBeGreaterThan(1);
    expect(Math.abs(shares.reduce((sum, one) => sum + one, 0) - 100)).toBeLessThan(1);
    const layers = page.getByRole('region', { name: 'Layers' });
    await expect(layers.getByRole('row', { name: /^all \d+/ })).toBeVisible();
    await expect(page.getByRole('region', { name: 'Kernels' })).toContainText(/not measured|no /);
  });
}

test('a server without a free turn is asked again', async ({ browser }) => {
  const page = await browser.newPage(); // not the one that allows no error
  let asked = 0;
  await page.route('**/api/v1/compare/**', async (route) => {
    if (asked++ > 0) return route.continue();
    await route.fulfill({ status: 503, json: { error: 'in use by others: ask again later' } });
  });
  await page.goto(both(live));
  await expect(page.getByRole('region', { name: 'Model' }).getByRole('table')).toBeVisible();
  expect(asked).toBeGreaterThan(1);
  await page.close();
});

test('the reference is changed, and one is taken away', async ({ page }) => {
  await page.goto(both(live));
  await page.getByRole('button', { name: 'Swap A and B' }).click();
  await expect(page.getByRole('listitem').filter({ hasText: 'reference' })).toContainText('h200');
  await page.getByRole('button', { name: /^Remove cpu/ }).click();
  await expect(page.getByText('Add one to five evaluations')).toBeVisible();
});

test('a layer that is chosen filters, and the filter goes along', async ({ page }) => {
  await page.goto(both(live));
  const layers = page.getByRole('region', { name: 'Layers' });
  const first = layers.getByRole('rowheader').getByRole('button').first();
  const name = await first.innerText();
  await first.click();
  await expect(first).toHaveAttribute('aria-pressed', 'true');
  const chip = page.getByRole('group', { name: 'Filters' });
  await expect(chip).toBeVisible();
  expect(name.length).toBeGreaterThan(0);
  await chip.getByRole('button', { name: 'Clear the layer' }).click();
  await expect(first).toHaveAttribute('aria-pressed', 'false');
});

for (const place of [live, report]) {
  test(`a flame graph shows where the difference is, ${place.name}`, async ({ page }) => {
    await page.goto(both(place));
    const region = page.getByRole('region', { name: 'Where the difference is' });
    const parts = region.getByRole('group', { name: /^Parts/ });
    await expect(parts).toBeVisible();
    const times = await Promise.all(
      (['cpu', 'gpu'] as const).map(async (kind) => {
        const id = encodeURIComponent(live.ids[kind]);
        const rows = await ask(page, `/evaluations/${id}/analyses/model_flame?batch=1`);
        return Number(rows.rows[0]?.[rows.columns.findIndex((one) => one.name === 'share_ns')]);
      }),
    );
    for (const time of times) await expect(region).toContainText(format('ns', time));
    // The whole is red if B takes longer, else blue; a part that A alone has is blue.
    const paint = (name: RegExp) =>
      parts
        .getByRole('button', { name })
        .first()
        .evaluate((one) => (one as HTMLElement).style.backgroundColor);
    const isLonger = (times[1] ?? 0) > (times[0] ?? 0);
    expect(await paint(/^inference/)).toContain(isLonger ? '--c4' : '--c1');
    expect(await paint(/^features/)).toContain('--c1');
    await parts.getByRole('button', { name: /^features/ }).click();
    await expect(parts.getByRole('button', { name: /^features.*100\.0 %/ })).toBeVisible();
    await region.getByRole('button', { name: 'Whole' }).click();
    await expect(parts.getByRole('button', { name: /^no kernel runs/ })).toBeVisible();
  });
}
