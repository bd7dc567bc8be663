// The pages of a server with a catalogue: results and sweeps are the API's, and a model answers a text.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test as base, type Page } from '@playwright/test';
import { seriousOf } from './axe';
import { build, root } from './setup';

const xsp = `${root}build/release/bin/xsp`;
const folder = `${build}offered`;
// The adapter `fake` halves its input, so the best of eight classes is the place of the largest byte.
const MANIFEST = `name: bytes
version: 1.0.0
task: classification
framework: {name: fake}
model: {path: model.fake}
inputs:
  - {name: x, dtype: float32, dimensions: [N, 8], from: bytes, steps: [byte_window: {begin: 8}, cast: {to: float32}]}
outputs:
  - name: y
    labels: [zero, one, two, three, four, five, six, seven]
    steps: [top: {count: 2}]
`;
const SWEEP = `name: tiny
models: ['fake:layers=2,us=50,wait=sleep']
frameworks: [fake]
batches: [1, 2]
options: {max-time: 0.3, no-peaks: true}
`;
const environment = { ...process.env, XSP_MANIFESTS: `${folder}/manifests` };
const run = (...words: string[]) =>
  execFileSync(xsp, words, { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'ignore'] });

const start = (words: string[]) => spawn(xsp, words, { cwd: folder, env: environment });
// Returns what the program prints on its standard error, once it does.
const printed = (program: ChildProcess, wanted: RegExp) =>
  new Promise<string>((found) => {
    program.stderr?.on('data', (piece) => {
      const at = wanted.exec(String(piece));
      if (at) found(at[1] as string);
    });
  });

let server: ChildProcess;
let agent: ChildProcess;
let address = '';
let token = '';

const test = base.extend<{ page: Page }>({
  page: async ({ page }, use) => {
    const wrong: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') wrong.push(message.text());
    });
    page.on('pageerror', (error) => wrong.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(address)) wrong.push(`asked for ${request.url()}`);
    });
    await use(page);
    expect(wrong).toEqual([]);
  },
});

test.describe.configure({ mode: 'serial' });

test.beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(`${folder}/manifests`, { recursive: true });
  writeFileSync(`${folder}/manifests/model.fake`, 'fake:layers=1,us=10');
  writeFileSync(`${folder}/manifests/bytes.yaml`, MANIFEST);
  writeFileSync(`${folder}/tiny.yaml`, SWEEP);
  run('sweep', 'tiny.yaml', '-o', 'tiny', '--db', 'catalogue.sqlite');
  token = String(run('catalogue', 'token', 'new', '--name', 'page', '--scope', 'run')).trim();
  writeFileSync(`${folder}/executors.yaml`, 'executors: {agents: {db: catalogue.sqlite}}\n');
  const words = ['serve', '--catalogue', 'catalogue.sqlite', '--listen', '127.0.0.1:0'];
  words.push('--allow-run', 'agents', '--executors', 'executors.yaml');
  server = start(words);
  address = await printed(server, / at (http:\S+)/);
  // Another machine, for the server: it connects to the catalogue alone.
  agent = start(['agent', '--db', 'catalogue.sqlite', '--name', 'other']);
  await printed(agent, /agent (other):/);
});
test.afterAll(() => {
  server.kill();
  agent.kill();
});

test('results are those of the API, and follow the choices', async ({ page }) => {
  await page.goto(`${address}#/results`);
  const link = page.getByRole('navigation').getByRole('link', { name: 'Results' });
  await expect(link).toHaveAttribute('aria-current', 'page');
  await expect(page.getByText(/2 rows/)).toBeVisible();
  const asked = await page.request.get(`${address}api/v1/results?metric=throughput&batch=1`);
  const { columns, rows } = await asked.json();
  const at = columns.findIndex((one: { name: string }) => one.name === 'value');
  await page.getByLabel('metric', { exact: true }).selectOption('throughput');
  await expect(page.getByText('metric throughput, unit per_s')).toBeVisible();
  // The rows are in the order of the batch sizes.
  const cells = await page.locator('tbody tr').first().locator('td').allInnerTexts();
  const shown = cells.map((cell) => Number.parseFloat(cell.replaceAll(',', '')));
  expect(shown.filter((one) => Math.abs(one / rows[0][at] - 1) < 0.01)).toHaveLength(1);
  expect(await seriousOf(page)).toEqual([]);
});

test('a sweep shows its tasks, and leads to its results', async ({ page }) => {
  await page.goto(`${address}#/sweeps`);
  const sweep = page.getByLabel('sweep', { exact: true });
  await expect(sweep.locator('option')).toHaveCount(2);
  await sweep.selectOption({ index: 1 });
  await page.getByRole('link', { name: 'its results' }).click();
  await expect(page.getByRole('heading', { name: 'Results' })).toBeVisible();
  await expect(page.getByText(/2 rows/)).toBeVisible();
  expect(await seriousOf(page)).toEqual([]);
});

test('a model answers a text, if there is a token', async ({ page }) => {
  await page.goto(`${address}#/predictions`);
  await page.getByLabel('or text').fill('aaaaazaa');
  await page.getByRole('checkbox', { name: 'bytes', exact: true }).check();
  await page.getByLabel('token of scope run').fill(token);
  expect(await seriousOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Predict' }).click();
  const answer = page.getByRole('region', { name: 'bytes' });
  await expect(answer.getByText('five')).toBeVisible();
  await expect(answer.getByText('byte_window')).toBeVisible();
  expect(await seriousOf(page)).toEqual([]);
  await answer.getByRole('link', { name: 'timeline' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
});

test('a model answers on two systems side by side', async ({ page }) => {
  await page.goto(`${address}#/predictions`);
  await page.getByLabel('or text').fill('aazaaaaa');
  await page.getByRole('checkbox', { name: 'bytes', exact: true }).check();
  await expect(page.getByRole('checkbox', { name: 'this server' })).toBeChecked();
  await page.getByRole('checkbox', { name: 'other' }).check();
  await page.getByLabel('token of scope run').fill(token);
  await page.getByRole('button', { name: 'Predict' }).click();
  for (const name of ['bytes', 'bytes on other']) {
    const answer = page.getByRole('region', { name, exact: true });
    await expect(answer.getByText('two', { exact: true })).toBeVisible({ timeout: 30_000 });
    await expect(answer.getByText('byte_window')).toBeVisible();
    await expect(answer.getByRole('link', { name: 'timeline' })).toBeVisible();
  }
  expect(await seriousOf(page)).toEqual([]);
});
