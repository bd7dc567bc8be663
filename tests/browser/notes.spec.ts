// Notes on the timeline: written, shown, changed, removed; kept beside the file, and in its report.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { expect, test as base, type Page } from '@playwright/test';
import { query } from './page';
import { build, root, samples } from './setup';

const xsp = `${root}build/release/bin/xsp`;
const folder = `${build}notes/`;
const FILE = 'one.xsp';

// A server of its own, because it writes.
const test = base.extend<object, { address: string }>({
  address: [
    async ({}, use) => {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      copyFileSync(`${samples}gpu/h200_resnet50.xsp`, folder + FILE);
      copyFileSync(folder + FILE, `${folder}fixed.xsp`);
      chmodSync(`${folder}fixed.xsp`, 0o444);
      const words = ['serve', folder, '--listen', '127.0.0.1:0', '--notes'];
      const server: ChildProcess = spawn(xsp, words);
      const address = await new Promise<string>((found, failed) => {
        server.stderr?.on('data', (piece) => {
          const at = / at (http:\S+)/.exec(String(piece));
          if (at) found(at[1] as string);
        });
        server.on('exit', () => failed(new Error('xsp serve ended')));
      });
      await use(address);
      server.kill();
    },
    { scope: 'worker' },
  ],
});
test.describe.configure({ mode: 'serial' });

const notes = (page: Page) => page.getByRole('region', { name: 'Notes' });
async function open(page: Page, address: string, more = '') {
  await page.goto(`${address}#/timeline${query(FILE, more)}`);
  await expect(page.locator('canvas[data-loading="0"]')).toBeVisible({ timeout: 120_000 });
}

test('a note on a stretch is written, changed and removed', async ({ page, address }) => {
  await open(page, address, '&run=4&begin=2606000000&end=2607000000');
  await page.getByRole('button', { name: 'notes', exact: true }).click();
  await expect(notes(page)).toContainText('on the marked stretch');
  await notes(page).getByRole('textbox').fill('why is nothing here?');
  await notes(page).getByRole('button', { name: 'Add the note' }).click();
  await expect(notes(page).getByRole('listitem')).toHaveCount(1);
  const kept = JSON.parse(readFileSync(`${folder}${FILE}.notes`, 'utf8'));
  expect(kept.notes[0]).toMatchObject({
    run: 4,
    from_ns: 2606000000,
    to_ns: 2607000000,
    span: null,
    text: 'why is nothing here?',
  });
  // Whoever opens the page next sees it.
  await open(page, address, '&run=4');
  await expect(notes(page)).toContainText('why is nothing here?');
  await notes(page).getByRole('button', { name: 'Change this note' }).click();
  await notes(page).getByRole('textbox', { name: 'Text of the note' }).fill('the host is late');
  await notes(page).getByRole('button', { name: 'Keep' }).click();
  await expect(notes(page)).toContainText('the host is late');
  await expect(notes(page)).not.toContainText('why is nothing here?');
  // A click shows the stretch.
  await notes(page).locator('.where').click();
  await expect(page.getByRole('region', { name: 'Measured' })).toBeVisible();
});

test('a report has the notes, and takes none', async ({ page, address }) => {
  expect(address).toBeTruthy();
  expect(existsSync(`${folder}${FILE}.notes`)).toBe(true);
  test.setTimeout(180_000);
  execFileSync(xsp, ['report', folder + FILE, '-o', `${folder}one.html`], { stdio: 'ignore' });
  await page.goto(`file://${folder}one.html#/timeline${query(FILE, '&run=4')}`);
  await expect(notes(page)).toContainText('the host is late');
  await expect(notes(page).getByRole('button', { name: 'Remove this note' })).toHaveCount(0);
  await page.getByRole('button', { name: 'notes', exact: true }).click();
  await expect(notes(page)).toContainText('A report takes no notes');
});

test('a note is removed, and one on a span is written', async ({ page, address }) => {
  await open(page, address, '&run=4&span=9473');
  await notes(page).getByRole('button', { name: 'Remove this note' }).click();
  await expect(notes(page)).toHaveCount(0);
  await expect(page.getByRole('region', { name: 'Selected span' })).toBeVisible();
  await page.getByRole('button', { name: 'notes', exact: true }).click();
  await expect(notes(page)).toContainText('on cudaLaunchKernel');
  await notes(page).getByRole('textbox').fill('the first launch');
  await notes(page).getByRole('button', { name: 'Add the note' }).click();
  await expect(notes(page).getByRole('listitem')).toContainText('span 9473');
});

test('who may not write is told why', async ({ page, request, address }) => {
  const origin = new URL(address).origin;
  const route = `${origin}/api/v1/evaluations/${FILE}/notes`;
  const note = { run: 4, from_ns: 1, to_ns: 2, text: 'x' };
  expect((await request.post(route, { data: note })).status()).toBe(401);
  const headers = { Authorization: `Bearer ${new URL(address).searchParams.get('token')}` };
  expect((await request.post(route, { headers, data: { ...note, to_ns: 0 } })).status()).toBe(400);
  expect((await request.post(route, { headers, data: { ...note, text: '' } })).status()).toBe(400);
  const fixed = await request.post(route.replace(FILE, 'fixed.xsp'), { headers, data: note });
  expect(fixed.status()).toBe(400);
  expect((await fixed.json()).error).toBe(
    'notes: fixed.xsp: it is read-only: serve a copy that may be written',
  );
  await page.goto(`${address}#/timeline${query('fixed.xsp', '&run=4')}`);
  await expect(page.locator('canvas[data-loading="0"]')).toBeVisible({ timeout: 120_000 });
  await page.getByRole('button', { name: 'notes', exact: true }).click();
  await expect(notes(page)).toContainText('it is read-only');
  await expect(notes(page).getByRole('textbox')).toHaveCount(0);
});
