// The base of every test: a page that may contact only its server, and must log no error on the console.
import { expect, test as base, type Locator, type Page } from '@playwright/test';
import type { Catalogue, Rows } from '../../web/src/data/types';
import { build } from './setup';

export const GPU = 'gpu/h200_resnet50.xsp';
export const CPU = 'cpu.xsp';
export const WATCHED = 'watched.xsp'; // made by `xsp run`

export interface Place {
  name: string;
  open: (hash: string) => string;
  ids: { gpu: string; cpu: string };
}

const server = () => process.env['XSP_ADDRESS'] as string;
export const live: Place = {
  name: 'live',
  open: (hash) => server() + hash,
  ids: { gpu: GPU, cpu: CPU },
};
export const report: Place = {
  name: 'report',
  open: (hash) => `file://${build}both.html${hash}`,
  ids: { gpu: 'h200_resnet50.xsp', cpu: 'cpu.xsp' },
};

export const watchedReport = (hash: string) => `file://${build}watched.html${hash}`;

export const test = base.extend<{ page: Page }>({
  page: async ({ page }, use) => {
    const wrong: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') wrong.push(message.text());
    });
    page.on('pageerror', (error) => wrong.push(error.message));
    page.on('request', (request) => {
      const url = request.url();
      const isOwn = /^(data|blob):/.test(url) || url.startsWith(server());
      const isReport = url.startsWith('file:') && request.isNavigationRequest();
      if (!isOwn && !isReport) wrong.push(`asked for ${url}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400) wrong.push(`${response.status()} for ${response.url()}`);
    });
    await use(page);
    expect(wrong).toEqual([]);
  },
});

// Returns the server's own answer, with which the page must agree.
export async function ask(page: Page, path: '/catalogue'): Promise<Catalogue>;
export async function ask(page: Page, path: `/evaluations/${string}`): Promise<Rows>;
export async function ask(page: Page, path: string): Promise<unknown> {
  const response = await page.request.get(`${server()}api/v1${path}`);
  expect(response.ok()).toBe(true);
  return response.json();
}

// Waits until every answer that the page requested has arrived. Many requests take long on a busy machine.
export const settled = (page: Page) =>
  expect(page.locator('[aria-busy=true]')).toHaveCount(0, { timeout: 120_000 });

// Scrolls by steps of so many pixels, and returns the longest time between two frames, in ms. It is that of the best of
// five turns: a busy machine pauses in some of them, a slow page in each.
export const longestFrame = (scrolled: Locator, steps: number, pixels: number): Promise<number> =>
  scrolled.evaluate(
    async (element, { steps, pixels }) => {
      const begin = element.scrollTop;
      const longest: number[] = [];
      for (let turn = 0; turn < 5; turn++) {
        let [last, most] = [performance.now(), 0];
        for (let step = 0; step < steps; step++) {
          element.scrollTop = begin + step * pixels;
          const now = await new Promise<number>((done) => requestAnimationFrame(done));
          most = Math.max(most, now - last);
          last = now;
        }
        longest.push(most);
      }
      return Math.min(...longest);
    },
    { steps, pixels },
  );

export const query = (id: string, more = '') => `?e=${encodeURIComponent(id)}${more}`;
export { expect } from '@playwright/test';
