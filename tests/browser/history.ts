// A folder with the history of one model, which the page is told instead of the server's own list.
import type { Page } from '@playwright/test';
import type { EvaluationEntry } from '../../web/src/data/types';
import { GPU } from './page';

// Five commits of one model; the fourth is slower.
const LATENCIES = [100, 101, 100, 130, 129];
export async function commits(page: Page) {
  await page.route('**/api/v1/evaluations', async (route) => {
    const list = await (await route.fetch()).json();
    const [one] = (list.evaluations as EvaluationEntry[]).filter(({ id }) => id === GPU);
    list.evaluations = LATENCIES.map((_, at) => ({
      ...one,
      id: `commit${at}.xsp`,
      facts: {
        ...one?.facts,
        started_at: `2026-11-0${at + 1}T10:00:00Z`,
        'tag.commit': `${at}`.repeat(40).replace(/^./, 'c'),
      },
    }));
    await route.fulfill({ json: list });
  });
  const latency = (at: number) => 1e6 * (LATENCIES[at] ?? 0);
  await page.route('**/analyses/model_information*', (route) => {
    const at = Number(/commit(\d)/.exec(route.request().url())?.[1]);
    const columns = ['batch', 'latency_ns', 'low_ns', 'high_ns', 'throughput_per_s'];
    return route.fulfill({
      json: {
        columns: columns.map((name) => ({ name, unit: 'ns' })),
        rows: [[1, latency(at), latency(at) - 1e6, latency(at) + 1e6, 1e9 / latency(at)]],
        total_rows: 1,
      },
    });
  });
  await page.route('**/compare/model*', (route) => {
    const [a, b] = [
      ...route
        .request()
        .url()
        .matchAll(/commit(\d)/g),
    ].map((one) => Number(one[1]));
    const ratio = latency(b ?? 0) / latency(a ?? 0);
    const significant = Math.abs(ratio - 1) > 0.05;
    const cells = { ratio_b: ratio, ratio_low_b: ratio - 0.02, ratio_high_b: ratio + 0.02 };
    const row = { batch: 1, ...cells, significant_b: significant };
    return route.fulfill({
      json: {
        comparison: 'model',
        evaluations: [`commit${a}.xsp`, `commit${b}.xsp`],
        batch: null,
        warnings: [],
        columns: Object.keys(row).map((name) => ({ name, unit: 'number' })),
        rows: [Object.values(row)],
        total_rows: 1,
      },
    });
  });
}
