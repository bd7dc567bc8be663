// Measures the speed of the page on a large evaluation. See measure.sh.
import { statSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { expect, query, test } from './page';

const samples = new URL('../../build/browser/measure/', import.meta.url).pathname;
const stage = (page: Page) => page.locator('canvas[data-loading]');
const loaded = (page: Page) => expect(stage(page)).toHaveAttribute('data-loading', '0');

interface Frames {
  reset(): void;
  read(): { between: number[]; drawing: number[] };
}

const say = (what: string, figure: string) => console.log(`${what.padEnd(44)} ${figure}`);
const ms = (time: number) => `${time.toFixed(1)} ms`;
function quantile(times: number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}
function tell(what: string, times: number[]) {
  expect(times.length, what).toBeGreaterThan(10);
  const [median, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
  say(
    what,
    `median ${ms(median)}, p99 ${ms(p99)}, max ${ms(Math.max(...times))} (${times.length} frames)`,
  );
}

// Reports the frames that the page itself recorded while `act` ran.
async function frames(page: Page, what: string, act: () => Promise<void>) {
  await page.evaluate(() => (window as unknown as { xspFrames: Frames }).xspFrames.reset());
  await act();
  await loaded(page);
  const seen = await page.evaluate(() =>
    (window as unknown as { xspFrames: Frames }).xspFrames.read(),
  );
  tell(`${what}: from frame to frame`, seen.between);
  tell(`${what}: drawing one`, seen.drawing);
}
async function hold(page: Page, key: string, time: number) {
  await page.keyboard.down(key);
  await page.waitForTimeout(time);
  await page.keyboard.up(key);
}
async function heap(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize;
}

const size = (name: string) => `${(statSync(samples + name).size / 2 ** 20).toFixed(1)} MiB`;
const server = process.env['XSP_ADDRESS'] as string;
const places: [string, string][] = [
  ['served', server],
  ['report', `file://${samples}large.html`],
];

test('sizes', () => {
  say('evaluation', size('large.xsp'));
  say('report', size('large.html'));
});

for (const [place, base] of places) {
  test(place, async ({ page }) => {
    for (const turn of ['first', 'second']) {
      for (const name of ['overview', 'timeline']) {
        await page.goto('about:blank');
        const from = performance.now();
        await page.goto(`${base}#/${name}${query('large.xsp')}`);
        if (name === 'timeline') await loaded(page);
        else await expect(page.getByRole('region', { name: 'Latency' })).toContainText(/\d+ .?s/);
        say(`${place}: ${name}, ${turn} time, from address to view`, ms(performance.now() - from));
      }
    }
    say(
      `${place}: JS heap but typed arrays, median inference in view`,
      `${((await heap(page)) / 2 ** 20).toFixed(1)} MiB`,
    );
    await stage(page).focus();
    await frames(page, `${place}: zooming`, async () => {
      for (const key of ['w', 's', 'w', 's']) await hold(page, key, 1000);
    });
    await frames(page, `${place}: panning`, async () => {
      for (const key of ['d', 'a', 'd', 'a']) await hold(page, key, 1000);
    });
    await page.getByRole('button', { name: 'whole run' }).click();
    await page.waitForTimeout(1000);
    await loaded(page);
    await stage(page).focus();
    await frames(page, `${place}: zooming, the whole run`, async () => {
      for (const key of ['w', 's', 'w', 's']) await hold(page, key, 1500);
    });
    say(
      `${place}: JS heap but typed arrays, after all that`,
      `${((await heap(page)) / 2 ** 20).toFixed(1)} MiB`,
    );
  });
}
