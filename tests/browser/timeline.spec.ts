// The timeline: moving, finding, selecting, measuring, by pointer and by keys; and the link to the view.
import type { Page } from '@playwright/test';
import { ask, expect, live, query, report, test, type Place } from './page';

const stage = (page: Page) => page.locator('canvas[data-loading]');
const details = (page: Page) => page.getByRole('region', { name: 'Selected span' });
const search = (page: Page) => page.getByRole('searchbox', { name: /^Search by name/ });

const isLoaded = (page: Page) => expect(stage(page)).toHaveAttribute('data-loading', '0');

// Waits until all tiles are there, and the address has the view.
async function rest(page: Page): Promise<{ from: number; to: number }> {
  await isLoaded(page);
  await expect(page).toHaveURL(/from=-?\d+&to=\d+/);
  const address = new URLSearchParams(page.url().split('?').at(-1));
  return { from: Number(address.get('from')), to: Number(address.get('to')) };
}
async function open(page: Page, place: Place, kind: 'gpu' | 'cpu') {
  await page.goto(place.open(`#/timeline${query(place.ids[kind])}`));
  await isLoaded(page);
}
// Opens the page and moves it away from the median inference, which the address has at first.
async function openMoved(page: Page) {
  await open(page, live, 'gpu');
  await page.getByRole('button', { name: 'whole run' }).click();
  const whole = await rest(page);
  await page.getByRole('button', { name: 'median iteration' }).click();
  return moved(page, whole);
}
// Waits until the view has changed, and stands still.
async function moved(page: Page, before: { from: number; to: number }) {
  await expect.poll(async () => JSON.stringify(await rest(page))).not.toBe(JSON.stringify(before));
  return still(page);
}
// Waits until the view has been the same for half a second. The address gets a view when it rests, which it also
// does where a busy machine pauses amid a movement.
async function still(page: Page) {
  let last = await rest(page);
  await expect
    .poll(async () => {
      await page.waitForTimeout(500);
      const now = await rest(page);
      const isStill = now.from === last.from && now.to === last.to;
      last = now;
      return isStill;
    })
    .toBe(true);
  return last;
}
// Holds a key for a moment; again if a busy machine drew no frame meanwhile.
async function hold(page: Page, key: string, before: { from: number; to: number }) {
  let last = before;
  await stage(page).focus();
  await expect(async () => {
    await page.keyboard.down(key);
    await page.waitForTimeout(150);
    await page.keyboard.up(key);
    last = await still(page);
    expect(last).not.toEqual(before);
  }).toPass();
  return last;
}
// Counts the colours of the picture. It is drawn in the frame after its name is set, so tests poll.
const colours = (page: Page) =>
  stage(page).evaluate((canvas: HTMLCanvasElement) => {
    const context = canvas.getContext('2d') as CanvasRenderingContext2D;
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
const width = (view: { from: number; to: number }) => view.to - view.from;

for (const place of [live, report]) {
  for (const kind of ['gpu', 'cpu'] as const) {
    test(`the median inference is drawn, ${kind}, ${place.name}`, async ({ page }) => {
      await open(page, place, kind);
      await expect(stage(page)).toHaveAccessibleName(/In view: .* to .*\. Lanes: .*[Ll]ayer/);
      await expect.poll(() => colours(page)).toBeGreaterThan(20);
      await page.getByRole('button', { name: 'table' }).click();
      const rows = page.getByRole('table', { name: /^Spans in view of/ }).getByRole('row');
      await expect.poll(() => rows.count()).toBeGreaterThan(20);
    });
  }
}

test('buttons, keys and the wheel zoom; the pointer stays where it is', async ({ page }) => {
  const first = await openMoved(page);
  await page.getByRole('button', { name: 'Zoom in' }).click();
  const closer = await moved(page, first);
  expect(width(closer)).toBeLessThan(width(first));
  await page.getByRole('button', { name: 'Zoom out' }).click();
  const back = await moved(page, closer);
  expect(width(back)).toBeGreaterThan(width(closer));

  const byKey = await hold(page, 'w', back);
  expect(width(byKey)).toBeLessThan(width(back));

  // A tenth from the right end, most of the moved view is still the same.
  const box = (await stage(page).boundingBox()) as { x: number; y: number; width: number };
  await page.mouse.move(box.x + box.width - 100, box.y + 120);
  await page.mouse.wheel(0, -200);
  const byWheel = await moved(page, byKey);
  expect(width(byWheel)).toBeLessThan(width(byKey));
  expect(byKey.to - byWheel.to).toBeLessThan(byWheel.from - byKey.from);
});

test('dragging and keys pan; the whole run and the median inference are a button away', async ({
  page,
}) => {
  const first = await openMoved(page);
  const box = (await stage(page).boundingBox()) as { x: number; y: number; width: number };
  await page.mouse.move(box.x + 800, box.y + 150);
  await page.mouse.down();
  await page.mouse.move(box.x + 600, box.y + 150, { steps: 5 });
  await page.mouse.up();
  const dragged = await moved(page, first);
  expect(dragged.from).toBeGreaterThan(first.from);
  expect(Math.abs(width(dragged) - width(first))).toBeLessThan(3);

  const byKey = await hold(page, 'a', dragged);
  expect(byKey.from).toBeLessThan(dragged.from);

  await page.getByRole('button', { name: 'whole run' }).click();
  const whole = await moved(page, byKey);
  expect(width(whole)).toBeGreaterThan(2 * width(first));
  await page.keyboard.press('m');
  expect(await moved(page, whole)).toEqual(first);
});

test('a search goes from match to match, and tells of each who called it', async ({ page }) => {
  await open(page, live, 'gpu');
  await page.keyboard.press('/');
  await expect(search(page)).toBeFocused();
  await page.keyboard.type('layer1/0/conv1/_convolution');
  await page.keyboard.press('Enter');
  await expect(details(page).getByRole('heading', { level: 2 })).toHaveText(
    'layer1/0/conv1/_convolution',
  );
  const found = page.getByText(/^\d[\d,]* of [1-9][\d,]*$/);
  const first = await found.innerText();
  await expect(details(page)).toContainText('Ancestors');
  await page.getByRole('button', { name: 'Next match' }).click();
  await expect(found).not.toHaveText(first);
  await search(page).fill('no layer has this name');
  await page.keyboard.press('Enter');
  await expect(page.getByText('no match', { exact: true })).toBeVisible();
});

test('from a layer to its kernel, to its launch, and up to the model', async ({ page }) => {
  await open(page, live, 'gpu');
  await page.getByRole('button', { name: 'table' }).click();
  const lane = page.getByRole('combobox', { name: /^lane/ });
  const kernels = lane
    .getByRole('option')
    .filter({ hasText: /stream/ })
    .first();
  await lane.selectOption({ label: await kernels.innerText() });
  const rows = page.getByRole('table', { name: /^Spans in view of/ });
  await rows
    .getByRole('row', { name: /kernel/ })
    .getByRole('button')
    .first()
    .click();
  await expect(details(page)).toContainText('From the launch to the execution');
  await expect(details(page).getByRole('link', { name: 'All about this kernel' })).toBeVisible();
  const kernel = await details(page).getByRole('heading', { level: 2 }).innerText();

  await stage(page).focus();
  await page.keyboard.press('ArrowUp');
  await expect(details(page).getByRole('heading', { level: 2 })).not.toHaveText(kernel);
  await expect(details(page)).toContainText('Children');
  await page.keyboard.press('Escape');
  await expect(details(page)).toHaveCount(0);
});

test('a link shows the same view with the same span', async ({ page, context }) => {
  await open(page, live, 'gpu');
  await search(page).fill('layer2/0/conv2/_convolution');
  await page.keyboard.press('Enter');
  await expect(details(page)).toBeVisible();
  await details(page).getByRole('button', { name: 'Fit' }).click();
  await expect(page).toHaveURL(/span=\d+/);
  const view = await still(page);
  const other = await context.newPage();
  await other.goto(page.url());
  expect(await rest(other)).toEqual(view);
  await expect(details(other).getByRole('heading', { level: 2 })).toHaveText(
    'layer2/0/conv2/_convolution',
  );
});

test('two points are measured between', async ({ page }) => {
  await open(page, live, 'gpu');
  const box = (await stage(page).boundingBox()) as { x: number; y: number };
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 500, box.y + 150);
  await page.mouse.down();
  await page.mouse.move(box.x + 900, box.y + 150, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  const measured = page.getByRole('region', { name: 'Measured' });
  await expect(measured.getByRole('heading')).toHaveText(/^\d[\d.]* [mµn]?s$/);
  await expect(measured).toContainText(/[1-9]\d* spans?, busy/);
  await page.keyboard.press('Escape');
  await expect(measured).toHaveCount(0);
});

test('the keys are told', async ({ page }) => {
  await open(page, live, 'cpu');
  await page.keyboard.press('?');
  await expect(page.getByText('zoom in and out')).toBeVisible();
  await page.keyboard.press('?');
  await expect(page.getByText('zoom in and out')).toHaveCount(0);
});

test('a layer is found from its page', async ({ page }) => {
  await page.goto(
    live.open(`#/layer/${encodeURIComponent('layer1/0/conv1/_convolution')}${query(live.ids.gpu)}`),
  );
  await page.getByRole('link', { name: 'in the timeline' }).click();
  await expect(search(page)).toHaveValue('layer1/0/conv1/_convolution');
  const selected = details(page).getByRole('heading', { level: 2 });
  await expect(selected).toHaveText('layer1/0/conv1/_convolution');
});

test('a long name is broken behind what joins its words; all of it is a click away', async ({
  page,
}) => {
  const id = encodeURIComponent(live.ids.gpu);
  const kernels = await ask(page, `/evaluations/${id}/analyses/kernels_by_name`);
  const names = kernels.rows.map((row) =>
    String(row[kernels.columns.findIndex((one) => one.name === 'name')]),
  );
  const long = names.find((name) => name.length > 150) as string;
  await page.goto(
    live.open(
      `#/timeline${query(live.ids.gpu, `&find=${encodeURIComponent(long.slice(0, 150))}`)}`,
    ),
  );
  const heading = details(page).getByRole('heading', { level: 2 });
  await expect(heading).toContainText(long.slice(0, 100));
  await details(page).getByText('full name').click();
  await expect(details(page).getByRole('button', { name: 'Copy' })).toBeVisible();
  await expect(details(page).locator('code')).toContainText(long.slice(0, 150));
});

test('what could not be found stays said while tiles come', async ({ page }) => {
  await page.goto(report.open(`#/timeline${query(report.ids.gpu, '&span=999999999')}`));
  const said = page.getByRole('status').filter({ hasText: 'not in this report' });
  await expect(said).toBeVisible();
  for (const name of ['whole run', 'Zoom in', 'median iteration']) {
    await page.getByRole('button', { name }).click();
    await isLoaded(page);
    await expect(said).toBeVisible();
  }
});

test('a double click opens a layer, and says nothing on the console', async ({ page }) => {
  await page.goto(live.open(`#/analysis/layer_information${query(live.ids.gpu)}`));
  const row = page.getByRole('region', { name: 'Table' }).getByRole('row').nth(2);
  const name = await row.getByRole('link').getAttribute('href');
  await row.getByRole('cell').nth(3).dblclick();
  await expect(page).toHaveURL(new RegExp((name ?? '').split('?')[0]?.slice(2) ?? '-'));
  await expect(page.getByRole('region', { name: 'Share' })).toBeVisible();
});

for (const width of [1280, 1400, 1920]) {
  test(`the tools are one line at ${width} pixels, also with a search`, async ({ page }) => {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(live.open(`#/timeline${query(live.ids.gpu)}`));
    await isLoaded(page);
    const tools = page.getByRole('toolbar', { name: 'Timeline' });
    const lines = async () => {
      const boxes = await Promise.all(
        (await tools.locator('button, input').all()).map((one) => one.boundingBox()),
      );
      return new Set(boxes.map((one) => Math.round(((one?.y ?? 0) + (one?.height ?? 0) / 2) / 8)));
    };
    expect((await lines()).size).toBe(1);
    await tools.getByRole('searchbox').fill('layer1');
    await tools.getByRole('button', { name: 'Next match' }).click();
    await expect(tools.getByText(/^[\d,]+ of [\d,]+$/)).toBeVisible();
    expect((await lines()).size).toBe(1);
  });
}

test('a phone has all tools, none outside of the window', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(live.open(`#/timeline${query(live.ids.gpu)}`));
  await isLoaded(page);
  const tools = page.getByRole('toolbar', { name: 'Timeline' });
  for (const one of await tools.locator('button, input').all()) {
    const box = await one.boundingBox();
    expect(box && box.x >= 0 && box.x + box.width <= 390).toBe(true);
  }
});
