// The static site, opened from disk: its figures are those of the analyses, its tables sort, and axe finds
// no serious problem, in either theme and at three widths.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { expect, test as base, type Page } from '@playwright/test';
import { seriousOf } from './axe';
import { build, samples } from './setup';

const xsp = new URL('../../build/release/bin/xsp', import.meta.url).pathname;
const site = `${build}site`;
const catalogue = `${build}site.sqlite`;

const test = base.extend<{ page: Page }>({
  page: async ({ page }, use) => {
    const wrong: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') wrong.push(message.text());
    });
    page.on('pageerror', (error) => wrong.push(error.message));
    page.on('request', (request) => {
      if (!/^(file|data):/.test(request.url())) wrong.push(`asked for ${request.url()}`);
    });
    await use(page);
    expect(wrong).toEqual([]);
  },
});

test.describe.configure({ mode: 'serial' });

test.beforeAll(() => {
  rmSync(site, { recursive: true, force: true });
  rmSync(catalogue, { force: true });
  const files = ['cpu.xsp', 'gpu/h200_resnet50.xsp'].map((one) => samples + one);
  execFileSync(xsp, ['catalogue', 'add', '--quiet', ...files, '--db', catalogue]);
  execFileSync(xsp, ['site', '--quiet', '--db', catalogue, '-o', site]);
});

async function links(page: Page): Promise<string[]> {
  await page.goto(`file://${site}/index.html`);
  const all = await page
    .locator('nav a[href$=".html"], main a[href$=".html"]')
    .evaluateAll((some) =>
      some.map((one) => new URL(one.getAttribute('href') as string, document.baseURI).href),
    );
  return [...new Set(all)];
}

test('the figures are those of the analysis', async ({ page }) => {
  await page.goto(`file://${site}/index.html`);
  const row = page.locator('#models-table tbody tr', { hasText: 'NVIDIA H200' });
  await expect(row).toContainText('3.956 ms');
  await expect(row).toContainText('3.677 ms to 4.234 ms');
  await expect(row).toContainText('1,338 /s');
  await expect(row).toContainText('not measured'); // accuracy: the weights are random
  await expect(page.locator('#kernels-table')).toContainText('30.63 %');
});

test('a table sorts by a column, and what was not measured stays last', async ({ page }) => {
  await page.goto(`file://${site}/index.html`);
  const head = page.locator('#models-table thead th', { hasText: 'online latency' });
  const column = 1 + (await head.evaluate((one) => (one as HTMLTableCellElement).cellIndex));
  const latency = page.locator(`#models-table tbody td[data-key]:nth-child(${column})`);
  const keys = () =>
    latency.evaluateAll((some) => some.map((one) => Number((one as HTMLElement).dataset['key'])));
  await head.getByRole('button').click();
  await expect(head).toHaveAttribute('aria-sort', 'descending');
  const falling = await keys();
  expect(falling.length).toBe(2);
  expect(falling[0]).toBeGreaterThan(falling[1] as number);
  await head.getByRole('button').click();
  expect(await keys()).toEqual([...falling].reverse());
});

test('every link leads to a page', async ({ page }) => {
  const all = await links(page);
  expect(all.length).toBe(9); // five over all models, two models, two systems
  for (const link of all) {
    await page.goto(link);
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/\w/);
  }
});

for (const theme of ['light', 'dark'] as const) {
  test(`no serious problem of access, ${theme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme });
    for (const address of await links(page)) {
      await page.goto(address);
      expect(await seriousOf(page)).toEqual([]);
    }
  });
}

for (const width of [390, 1024, 1600]) {
  test(`nothing leaves the page at ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 900 });
    for (const address of await links(page)) {
      await page.goto(address);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    }
  });
}
