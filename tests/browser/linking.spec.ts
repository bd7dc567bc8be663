// Tables: sorted, filtered, saved; a layer selected in one view filters the others, and its page has all its
// facts.
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { ask, expect, live, query, test } from './page';

const layers = () => live.open(`#/analysis/layer_information${query(live.ids.gpu)}`);

// Returns the first layer of the evaluation: its name, and its label.
async function firstLayer(page: Page): Promise<{ name: string; label: string; type: string }> {
  const id = encodeURIComponent(live.ids.gpu);
  const rows = await ask(page, `/evaluations/${id}/analyses/layer_information`);
  const of = (name: string) =>
    String(rows.rows[0]?.[rows.columns.findIndex((one) => one.name === name)]);
  return { name: of('name'), label: of('label'), type: of('type') };
}

test('a layer chosen goes along, until it is cleared', async ({ page }) => {
  const { name, label } = await firstLayer(page);
  await page.goto(layers());
  await page.getByRole('main').getByText(label, { exact: true }).first().click();
  const chip = page.getByRole('group', { name: 'Filters' });
  await expect(chip).toContainText(name);
  const more = `&layer=${encodeURIComponent(name)}`;
  await page.goto(live.open(`#/analysis/kernels_by_layer${query(live.ids.gpu, more)}`));
  await expect(page.getByRole('group', { name: 'Filters' })).toContainText(name);
  await page.getByRole('button', { name: 'Clear the layer' }).click();
  await expect(page.getByRole('group', { name: 'Filters' })).toHaveCount(0);
  expect(page.url()).not.toContain('layer=');
});

// Parses RFC 4180 independently, as a spreadsheet would.
function cells(text: string): string[][] {
  const lines: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g,
  )) {
    if (quoted === undefined && plain === '' && end === '') break;
    lines.at(-1)?.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    if (end === '\r\n') lines.push([]);
  }
  return lines.filter((line) => line.length > 0);
}

for (const analysis of ['layer_information', 'kernel_information', 'layer_flops']) {
  test(`what is saved as CSV is what the API answers, every cell of ${analysis}`, async ({
    page,
  }) => {
    await page.goto(live.open(`#/analysis/${analysis}${query(live.ids.gpu)}`));
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).first().click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe(`${analysis}.csv`);
    const [head, ...lines] = cells(readFileSync(await saved.path(), 'utf8'));
    const id = encodeURIComponent(live.ids.gpu);
    const rows = await ask(page, `/evaluations/${id}/analyses/${analysis}`);
    expect(head).toEqual(rows.columns.map((one) => one.name));
    const texts = rows.rows.map((row) => row.map((cell) => (cell === null ? '' : String(cell))));
    // Sorts both alike, because the analysis may want the table sorted.
    const sorted = (some: string[][]) => some.map((line) => JSON.stringify(line)).sort();
    expect(sorted(lines)).toEqual(sorted(texts));
  });
}

test('an address shows what its sender saw', async ({ page, context }) => {
  const { name, label } = await firstLayer(page);
  await page.goto(layers());
  await page.getByRole('main').getByText(label, { exact: true }).first().click();
  await expect(page.getByRole('group', { name: 'Filters' })).toContainText(name);
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(other.getByRole('group', { name: 'Filters' })).toContainText(name);
});
