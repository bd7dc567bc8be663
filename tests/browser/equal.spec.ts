// A report answers what the live page answers for the packed evaluation, and says what it lacks.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Page } from '@playwright/test';
import type { Analysis, Catalogue } from '../../web/src/data/types';
import type { Matches, Timeline } from '../../web/src/timeline/types';
import { ask, expect, live, query, test } from './page';
import { build } from './setup';

const FILE = 'h200_resnet50.xsp';
const liveId = encodeURIComponent(live.ids.gpu);
const inReport = (hash: string) => `file://${build}one.html${hash}`;
const asLive = (request: string) =>
  request.replace(`/evaluations/${FILE}`, `/evaluations/${liveId}`);

type Answers = Record<string, Record<string, unknown>>;
const recorded: Answers = (() => {
  let known: Answers | undefined;
  return new Proxy({} as Answers, {
    get: (_, key: string) => (known ??= read())[key],
    has: (_, key: string) => key in (known ??= read()),
    ownKeys: () => Reflect.ownKeys((known ??= read())),
    getOwnPropertyDescriptor: (_, key) => ({
      ...Object.getOwnPropertyDescriptor((known ??= read()), key),
      configurable: true,
    }),
  });
})();
function read(): Answers {
  const html = readFileSync(`${build}one.html`, 'utf8');
  const packed = /<script id="xsp-recorded"[^>]*>([^<]*)</.exec(html)?.[1] ?? '';
  return JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString()) as Answers;
}

// The facts of the file's place, in which a copy of the file differs.
const OF_PLACE = ['id', 'modified'];
const plain = (answer: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(answer).filter(([key]) => !OF_PLACE.includes(key)));

test('every answer of a report is that of the server', async ({ page }) => {
  test.setTimeout(400_000);
  const requests = Object.keys(recorded);
  expect(requests.length).toBeGreaterThan(300);
  const wrong: string[] = [];
  const check = async (request: string) => {
    const response = await page.request.get(live.open('') + asLive(request).slice(1));
    const answer = (await response.json()) as Record<string, unknown>;
    const own = recorded[request] as Record<string, unknown>;
    if (request === '/api/v1/evaluations') {
      const all = answer['evaluations'] as Record<string, unknown>[];
      const [mine] = own['evaluations'] as Record<string, unknown>[];
      const [same] = all.filter(({ id }) => id === live.ids.gpu);
      if (JSON.stringify(plain(mine ?? {})) !== JSON.stringify(plain(same ?? {})))
        wrong.push(request);
    } else if (JSON.stringify(plain(own)) !== JSON.stringify(plain(answer))) wrong.push(request);
  };
  const left = [...requests];
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) await check(next);
    }),
  );
  expect(wrong).toEqual([]);
});

// Returns the requests that the live page sends while it shows these views, as a report spells them.
async function requestsOf(page: Page, hashes: string[]): Promise<Set<string>> {
  const asked = new Set<string>();
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (!pathname.startsWith('/api/v1/')) return;
    asked.add((pathname + search).replace(`/evaluations/${liveId}`, `/evaluations/${FILE}`));
  });
  for (const hash of hashes) {
    await page.goto(live.open(hash));
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/\w/);
    await page.waitForLoadState('networkidle');
    // The first page of a batch size waits for what all analyses of that size need.
    await expect(page.locator('[aria-busy=true]')).toHaveCount(0, { timeout: 150_000 });
  }
  return asked;
}

// Returns whether the request is for a tile of the timeline without any part of the median inference. The view has
// some room around the inference, and a report marks it as having no finer detail.
function isBeside(request: string): boolean {
  const [, run, tile, zoom] = /tile\?run=(\d+)&tile=(\d+)&zoom=(\d+)$/.exec(request) ?? [];
  if (run === undefined) return false;
  const key = `/api/v1/evaluations/${FILE}/timeline?run=${run}`;
  const timeline = recorded[key] as unknown as Timeline;
  const at = timeline.iterations.iteration.indexOf(timeline.representative ?? NaN);
  const from = timeline.iterations.start_ns[at] as number;
  const length = timeline.axis_ns / 2 ** Number(zoom);
  const begin = Number(tile) * length;
  const end = from + (timeline.iterations.duration_ns[at] as number);
  return begin >= end || begin + length <= from;
}

// Returns whether the report has the same stretch one zoom coarser. While a page is laid out, the window's width, and
// so the tiles at its edges, depend on how busy the machine is.
function isCoarser(request: string): boolean {
  const [, start, tile, zoom] = /^(.*tile\?run=\d+)&tile=(\d+)&zoom=(\d+)$/.exec(request) ?? [];
  if (start === undefined) return false;
  return `${start}&tile=${Number(tile) >> 1}&zoom=${Number(zoom) - 1}` in recorded;
}

test('what the views of an evaluation ask for is in its report', async ({ page }) => {
  test.setTimeout(400_000);
  const { analyses } = (await ask(page, '/catalogue')) as Catalogue;
  const gpu = live.ids.gpu;
  const layer = encodeURIComponent('layer1/0/conv2/_convolution');
  const takesBatch = (one: Analysis) => one.params.some(({ name }) => name === 'batch');
  const hashes = [1, 4].flatMap((batch) => [
    `#/overview${query(gpu, `&batch=${batch}`)}`,
    `#/layer/${layer}${query(gpu, `&batch=${batch}`)}`,
    `#/timeline${query(gpu, `&batch=${batch}`)}`,
    `#/analysis/layer_graph${query(gpu, `&batch=${batch}&colour=bound`)}`,
    `#/analysis/layer_graph${query(gpu, `&batch=${batch}&colour=energy`)}`,
    ...analyses
      .filter((one) => batch === 1 || takesBatch(one))
      .map((one) => `#/analysis/${one.name}${query(gpu, `&batch=${batch}`)}`),
  ]);
  const asked = await requestsOf(page, hashes);
  expect(asked.size).toBeGreaterThan(80);
  const lacking = [...asked].filter((request) => !(request in recorded));
  expect(lacking.filter((request) => !isBeside(request) && !isCoarser(request))).toEqual([]);
});

// The median inference of the run that the timeline shows first.
async function median(page: Page) {
  const run = 4;
  const timeline = recorded[
    `/api/v1/evaluations/${FILE}/timeline?run=${run}`
  ] as unknown as Timeline;
  const at = timeline.iterations.iteration.indexOf(timeline.representative ?? NaN);
  const from = timeline.iterations.start_ns[at] as number;
  const to = from + (timeline.iterations.duration_ns[at] as number);
  const found = async (text: string) => {
    const path = `/evaluations/${liveId}/timeline/search?run=${run}&from=${from}&text=${text}`;
    const answer = (await ask(page, path as '/evaluations/')) as unknown as Matches;
    return answer.matches.filter((one) => one.start_ns < to);
  };
  return { run, from, to, found };
}

test('a search finds the same spans of the median inference', async ({ page }) => {
  const { from, to, found } = await median(page);
  const wanted = (await found('layer1')).slice(0, 3);
  expect(wanted.length).toBe(3);
  await page.goto(inReport(`#/timeline${query(FILE, `&from=${from - 1000}&to=${to}`)}`));
  await expect(page.locator('canvas[data-loading="0"]')).toBeVisible();
  await page.getByRole('searchbox', { name: /^Search by name/ }).fill('layer1');
  for (const one of wanted) {
    await page.getByRole('button', { name: 'Next match' }).click();
    await expect(page).toHaveURL(new RegExp(`span=${one.span}(&|$)`));
    await expect(page.getByRole('region', { name: 'Selected span' })).toContainText(one.name);
  }
});

test('a selection has the same table by name', async ({ page }) => {
  const { from, to } = await median(page);
  const tables: string[] = [];
  for (const open of [
    (more: string) => live.open(`#/timeline${query(live.ids.gpu, more)}`),
    (more: string) => inReport(`#/timeline${query(FILE, more)}`),
  ]) {
    await page.goto('about:blank');
    await page.goto(open(`&run=4&begin=${from}&end=${to}`));
    const measured = page.getByRole('region', { name: 'Measured' });
    await expect(measured.getByRole('row').nth(3)).toBeVisible();
    await expect(measured).not.toHaveAttribute('aria-busy', 'true');
    tables.push(await measured.innerText());
  }
  expect(tables[1]).toBe(tables[0]);
});

test('a report lists what it leaves out, and how to have it', async ({ page }) => {
  await page.goto(inReport('#/overview'));
  await page.getByText('What this report leaves out').click();
  const items = page.getByRole('contentinfo').getByRole('listitem');
  expect(await items.count()).toBeGreaterThan(4);
  for (const one of await items.all()) await expect(one).toContainText(/xsp (serve|analyze|query)/);
  // The list is of this report: what it names is indeed not there.
  const keys = Object.keys(recorded);
  const runs = new Set(keys.flatMap((key) => /timeline\?run=(\d+)$/.exec(key)?.[1] ?? []));
  const all = (recorded[`/api/v1/evaluations/${FILE}`]?.['runs'] ?? []) as unknown[];
  expect(runs.size).toBeLessThan(all.length);
  expect(keys.some((key) => /\/(search|query)\?/.test(key))).toBe(false);
  await page.goto(inReport(`#/timeline${query(FILE, '&run=5')}`));
  await expect(page.getByRole('alert')).toContainText('not in this report: open the .xsp file');
  await page.goto(live.open(`#/overview${query(live.ids.gpu)}`));
  await expect(page.getByText('What this report leaves out')).toHaveCount(0);
});
