// Data that is too large to read: a table of a hundred thousand rows, thousands of points.
import type { Cell } from '../../web/src/data/types';
import { ask, expect, live, longestFrame, query, test } from './page';

const id = encodeURIComponent(live.ids.gpu);

test('a table of 100,000 rows builds what is in view, sorts, filters, and scrolls to its end', async ({
  page,
}) => {
  const count = 100_000;
  const known = await ask(page, '/catalogue');
  const columns = [
    { name: 'batch', unit: 'count', description: '' },
    { name: 'index', unit: 'count', description: '' },
    { name: 'name', unit: 'text', description: '' },
    { name: 'latency_ns', unit: 'ns', description: '' },
  ];
  const rows: Cell[][] = Array.from({ length: count }, (_, index) => [
    1,
    index,
    `layer ${index}`,
    1000 + ((index * 7919) % count),
  ]);
  const slowest = rows.find((row) => row[3] === 1000 + count - 1)?.[2];
  const analysis = {
    ...known.analyses.find((one) => one.name === 'layer_information'),
    views: [{ kind: 'table', options: { columns: 'index,name,latency_ns', bar: 'latency_ns' } }],
    columns,
  };
  const answer = { analysis: analysis.name, parameters: {}, columns, rows, total_rows: count };
  await page.route('**/api/v1/catalogue', (route) =>
    route.fulfill({ json: { analyses: [analysis], levels: known.levels } }),
  );
  await page.route('**/analyses/layer_information*', (route) => route.fulfill({ json: answer }));

  await page.goto(live.open(`#/analysis/layer_information${query(live.ids.gpu)}`));
  const table = page.getByRole('region', { name: 'Table' });
  await expect(table).toContainText('100,000 rows');
  const isBounded = async () => expect(await table.getByRole('row').count()).toBeLessThan(100);
  await isBounded();
  const body = table.getByRole('group', { name: /^Rows/ });
  await body.focus();
  await page.keyboard.press('End');
  await expect(table.getByText(`layer ${count - 1}`, { exact: true })).toBeInViewport();
  await isBounded();
  await page.keyboard.press('Home');
  await table
    .getByRole('columnheader', { name: /^latency/ })
    .getByRole('button')
    .click();
  await expect(table.getByRole('row').nth(1)).toContainText(String(slowest));
  await table.getByRole('searchbox').fill('"layer 7777"');
  await expect(table).toContainText('11 of 100,000 rows'); // itself, and 77770 to 77779
  // No pause between two frames is long enough to be noticed.
  await table.getByRole('searchbox').fill('');
  await expect(table).toContainText('100,000 rows');
  expect(await longestFrame(body, 60, 35_000)).toBeLessThan(1000);
  await isBounded();
});

test('thousands of points are drawn on a canvas, and each can be pointed at', async ({ page }) => {
  const rows = await ask(page, `/evaluations/${id}/analyses/kernel_roofline`);
  const of = (name: string) => rows.columns.findIndex((one) => one.name === name);
  const x = of('intensity_flops_per_byte');
  const many = Array.from({ length: 12 }, (_, turn) =>
    rows.rows.map((row) =>
      row.map((cell, at) => (at === x && typeof cell === 'number' ? cell * (1 + turn / 20) : cell)),
    ),
  ).flat();
  expect(many.filter((row) => Number(row[x]) > 0).length).toBeGreaterThan(1500);
  await page.route('**/analyses/kernel_roofline*', (route) =>
    route.fulfill({ json: { ...rows, rows: many, total_rows: many.length } }),
  );
  await page.goto(live.open(`#/analysis/kernel_roofline${query(live.ids.gpu)}`));
  const figure = page.getByRole('figure').first();
  const canvas = figure.locator('canvas');
  await expect(canvas).toBeVisible();
  await expect(figure.locator('circle.point')).toHaveCount(0);
  const painted = () =>
    canvas.evaluate((element: HTMLCanvasElement) => {
      const copy = document.createElement('canvas');
      [copy.width, copy.height] = [element.width, element.height];
      const context = copy.getContext('2d', { willReadFrequently: true });
      context?.drawImage(element, 0, 0);
      const data = context?.getImageData(0, 0, copy.width, copy.height).data ?? [];
      let strength = 0;
      for (let at = 3; at < data.length; at += 4) strength += data[at] as number;
      return strength / 255;
    });
  const before = await painted();
  expect(before).toBeGreaterThan(5000);
  const points = figure.getByRole('slider');
  await points.focus();
  await page.keyboard.press('Home');
  await expect(figure.locator('.tip')).toContainText('latency');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('group', { name: 'Filters' })).toContainText('kernel');
  // All points but those of the selected kernel are dimmed.
  await expect.poll(painted).toBeLessThan(0.8 * before);
});
