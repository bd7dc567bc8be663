import { ask, expect, live, query, report, settled, test } from './page';
import { build } from './setup';

test('the list tells what each file is, and which cannot be read', async ({ page }) => {
  await page.goto(live.open('#/home'));
  const list = page.getByRole('table');
  await expect(list.getByRole('row')).toHaveCount(5);
  await expect(list.getByRole('row', { name: /broken/ })).toContainText('cannot be read');
  await expect(list.getByRole('row', { name: /h200/ })).toContainText('NVIDIA H200');
});

for (const place of [live, report]) {
  test(`the overview tells what the analyses tell, ${place.name}`, async ({ page }) => {
    await page.goto(place.open(`#/overview${query(place.ids.gpu)}`));
    const rows = await ask(page, `/evaluations/${encodeURIComponent(live.ids.gpu)}/analyses/a1`);
    const column = rows.columns.findIndex((one) => one.name === 'latency_ns');
    const latency = `${(Number(rows.rows[0]?.[column]) / 1e6).toFixed(3)} ms`;
    await expect(page.getByRole('region', { name: 'Latency' })).toContainText(latency);
    const course = page.getByRole('region', { name: 'Latency' }).getByRole('img');
    await expect(course).toHaveAccessibleName(/at batch 1, .* at batch 4/);
    await expect(page.getByRole('main')).toContainText('on cuda:0 · NVIDIA H200 · Intel');
    const bottleneck = page.getByRole('region', { name: 'Bottleneck' });
    await expect(bottleneck).toContainText('the GPU waits for the next launch');
    await expect(bottleneck).toContainText('kernels run 20.3 % of the latency');
    await expect(page.getByRole('region', { name: 'Latency' })).toContainText(/within .* \(95 %\)/);
    // Batch 4 had time for only one block, and the page says so.
    await expect(page.getByRole('region', { name: 'Audit' })).toContainText(
      /2 of 16 checks of the file are not ok.*latencies settled.*batch 4.*not settled: stopped by time/,
    );
    await expect(page.getByRole('region', { name: 'What measuring cost' })).toContainText(
      /adds (nothing that is certain: )?-?[\d.]+ % \((-?[\d.]+ to -?[\d.]+|too few blocks for an interval)\)/,
    );
  });

  test(`the bar descends from the model to kernels, ${place.name}`, async ({ page }) => {
    await page.goto(place.open(`#/overview${query(place.ids.gpu)}`));
    const tile = page.getByRole('region', { name: 'Where the time goes' });
    await tile.getByRole('button', { name: /^aten::_convolution/ }).click();
    const layers = tile.getByRole('group', { name: /layers of this type/ });
    await layers.getByRole('button').first().click();
    await expect(tile.getByRole('group', { name: /^kernel:/ })).toBeVisible();
    await tile.getByRole('link', { name: /^All about/ }).click();
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    expect(page.url()).toContain('#/layer/');
  });
}

test('a CPU has a bottleneck, too', async ({ page }) => {
  await page.goto(live.open(`#/overview${query(live.ids.cpu)}`));
  const bottleneck = page.getByRole('region', { name: 'Bottleneck' });
  // While other programs run, no conclusion is drawn, and the page says so.
  await expect(bottleneck).toContainText(
    /For \d+ % of an inference.*layers run .* of the latency|The measurement is in doubt: dist(urb|ort)ed/,
  );
});

test('the batch size goes along', async ({ page }) => {
  await page.goto(live.open(`#/overview${query(live.ids.gpu)}`));
  await page.getByLabel('Batch size').selectOption('4');
  await expect(page.getByRole('region', { name: 'Latency' })).toContainText('batch 4');
  await page.getByRole('link', { name: 'Analyses' }).click();
  await expect(page.getByLabel('Batch size')).toHaveValue('4');
});

test('the theme is chosen and remembered', async ({ page }) => {
  await page.goto(live.open(`#/overview${query(live.ids.cpu)}`));
  await page.getByRole('button', { name: /^Theme/ }).click();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
});

for (const place of [live, report]) {
  test(`a phone shows the overview without scrolling sideways, ${place.name}`, async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(place.open(`#/overview${query(place.ids.gpu)}`));
    await expect(page.getByRole('region', { name: 'Audit' })).toContainText(
      'checks of the file are not ok',
    );
    await settled(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(390);
    // The tiles are one below the other, each as wide as the phone.
    const boxes = await page
      .getByRole('region')
      .evaluateAll((all) =>
        all.map((one) => one.getBoundingClientRect()).map(({ left, width }) => [left, width]),
      );
    expect(boxes.length).toBeGreaterThan(6);
    expect(new Set(boxes.map((box) => box.join(' '))).size).toBe(1);
  });
}

test('a report from disk needs no network, and asks nobody', async ({ page, context }) => {
  await context.setOffline(true);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  for (const hash of ['overview', 'timeline', 'analysis/kernel_roofline', 'compare']) {
    await page.goto(report.open(`#/${hash}${query(report.ids.gpu)}`));
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/\w/);
    await settled(page);
  }
  await expect(page.getByRole('alert')).toHaveCount(0);
  expect(asked.filter((url) => !/^(file|data|blob):/.test(url))).toEqual([]);
  expect(asked.filter((url) => url.startsWith('file:'))).toHaveLength(1);
});

test('a page of a report of one evaluation needs no mention of it', async ({ page }) => {
  await page.goto(`file://${build}one.html#/timeline`);
  await expect(page.getByRole('heading', { name: 'Timeline' })).toBeVisible();
  await settled(page);
  await expect(page.getByText('Choose an evaluation.')).toHaveCount(0);
  expect(page.url()).toContain(`e=${report.ids.gpu}`);
});

test('the overview of a load shows what its requests took, in parts that add up', async ({
  page,
}) => {
  await page.goto(`file://${build}load.html#/overview`);
  const tile = page.getByRole('region', { name: 'Requests', exact: true });
  await expect(tile).toContainText(/median [\d.]+ (us|ms)/);
  await expect(tile).toContainText(/on average [\d.]+ (us|ms), scenario server, 300 requests/);
  await expect(tile).toContainText(/(met|missed): p99 is [\d.]+ (us|ms), 100 ms is allowed/);
  const bar = tile.getByRole('group', { name: /on average/ });
  const parts = await bar
    .getByRole('button')
    .evaluateAll((some) => some.map((one) => one.getAttribute('aria-label') ?? ''));
  const shares = parts.map((one) => Number(/, ([\d.]+) %/.exec(one)?.[1]));
  expect(parts.length).toBeGreaterThan(2);
  expect(shares.reduce((all, one) => all + one, 0)).toBeCloseTo(100, 5);
});
