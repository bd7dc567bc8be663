// The first bar of the page: a step's time by its causes, and the culprits of each.
import type { Page } from '@playwright/test';
import { format } from '../../web/src/data/units';
import { seriousOf } from './axe';
import { ask, expect, live, query, report, settled, test, WATCHED, watchedReport } from './page';

const tile = (page: Page, unit = 'a step') => page.getByRole('region', { name: `Time of ${unit}` });

async function rowsOf(page: Page, id: string, analysis: string) {
  const answer = await ask(page, `/evaluations/${encodeURIComponent(id)}/analyses/${analysis}`);
  return answer.rows.map((row) =>
    Object.fromEntries(answer.columns.map(({ name }, at) => [name, row[at] ?? null])),
  );
}

const places = [
  { name: 'live', open: live.open },
  { name: 'report', open: watchedReport },
];
for (const place of places) {
  test(`a step of a program that was watched, ${place.name}`, async ({ page }) => {
    await page.goto(place.open(`#/overview${query(WATCHED)}`));
    const rows = await rowsOf(page, WATCHED, 'time_of_step');
    const step = rows.find((row) => row['cause'] === 'step');
    const first = page.getByRole('main').getByRole('region').first();
    await expect(first).toHaveAccessibleName('Time of a step');
    // The number equals that of the analysis steps, including its format.
    await expect(tile(page)).toContainText(format('ns', step?.['time_ns']));
    const steps = await rowsOf(page, WATCHED, 'steps');
    expect(steps.map((row) => format('ns', row['step_ns']))).toContain(
      format('ns', step?.['time_ns']),
    );

    const tabs = tile(page).getByRole('tab');
    await expect(tabs.first()).toHaveAttribute('aria-selected', 'true');
    const cause = String(rows[0]?.['cause']);
    const causeNs = rows
      .filter((row) => row['cause'] === cause)
      .reduce((sum, row) => sum + Number(row['time_ns']), 0);
    await expect(tabs.first()).toContainText(cause);
    await expect(tabs.first()).toContainText(format('ns', causeNs));
    const panel = tile(page).getByRole('tabpanel');
    await expect(panel).toHaveAccessibleName(new RegExp(`^${cause}`));
    const largest = rows.find((row) => row['cause'] === cause);
    await expect(panel).toContainText(format('ns', largest?.['time_ns']));

    await tabs.filter({ hasText: 'waiting' }).click();
    await expect(panel).toContainText('wait_for_camera');
    await expect(panel).toContainText(/watched\.py:\d+/);

    // The recommendations are below it: three sentences at most, and the doubts.
    const second = page.getByRole('main').getByRole('region').nth(1);
    await expect(second).toHaveAccessibleName('Findings');
    const findings = await rowsOf(page, WATCHED, 'findings');
    const found = findings.filter((row) => !['doubt', 'unasked'].includes(String(row['rule'])));
    const shown = second.getByRole('listitem');
    await expect(shown).toHaveCount(Math.min(3, found.length));
    for (const row of found.slice(0, 3)) await expect(second).toContainText(String(row['finding']));
  });
}

test('the segments are as long as their share, and together the bar', async ({ page }) => {
  await page.goto(live.open(`#/overview${query(live.ids.gpu)}`));
  const bar = tile(page, 'an inference').locator('.bar');
  await expect(bar).toBeVisible();
  const rows = await rowsOf(page, live.ids.gpu, 'time_of_step');
  const whole = Number(rows.find((row) => row['cause'] === 'step')?.['time_ns']);
  await expect(tile(page, 'an inference')).toContainText(format('ns', whole));
  const widths = await bar
    .locator('span')
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
  const { width } = (await bar.boundingBox()) ?? { width: 0 };
  const drawn = widths.reduce((sum, one) => sum + one, 0);
  expect(Math.abs(drawn + 2 * (widths.length - 1) - width)).toBeLessThan(1);
  const first = String(rows[0]?.['cause']);
  const ns = rows
    .filter((row) => row['cause'] === first)
    .reduce((sum, row) => sum + Number(row['time_ns']), 0);
  expect(Math.abs((widths[0] ?? 0) / drawn - ns / whole)).toBeLessThan(0.01);
});

test('pointing shows a cause, a click keeps it, the arrow keys walk', async ({ page }) => {
  await page.goto(live.open(`#/overview${query(live.ids.gpu)}`));
  const panel = tile(page, 'an inference').getByRole('tabpanel');
  const tabs = tile(page, 'an inference').getByRole('tab');
  const nameOf = async (at: number) => String(await tabs.nth(at).locator('.name').textContent());
  await expect(tabs.first()).toBeVisible();
  const [first, second, third] = [await nameOf(0), await nameOf(1), await nameOf(2)];
  const title = panel.locator('.about b');
  await expect(title).toHaveText(first);
  await tile(page, 'an inference').locator('.bar span').nth(1).hover();
  await expect(title).toHaveText(second);
  await page.mouse.move(0, 0);
  await expect(title).toHaveText(first);
  await tabs.nth(1).click();
  await page.mouse.move(0, 0);
  await expect(title).toHaveText(second);
  await page.keyboard.press('ArrowRight');
  await expect(tabs.nth(2)).toBeFocused();
  await expect(title).toHaveText(third);
  await page.keyboard.press('Home');
  await expect(title).toHaveText(first);
  // Its culprits follow, with their places.
  await page.keyboard.press('Tab');
  await expect(panel).toBeFocused();
  await page.keyboard.press('Tab');
  await expect(panel.getByRole('link').first()).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/#\/layer\//);
});

test('what was not measured is said in its place', async ({ page }) => {
  const id = encodeURIComponent(live.ids.cpu);
  const answer = await ask(page, `/evaluations/${id}/analyses/time_of_step`);
  const reason = 'not measured: steps: none were seen';
  await page.route('**/analyses/time_of_step*', (route) =>
    route.fulfill({ json: { ...answer, rows: [], total_rows: 0, not_measured: reason } }),
  );
  await page.goto(live.open(`#/overview${query(live.ids.cpu)}`));
  await expect(tile(page, 'an inference')).toContainText(reason);
  await expect(tile(page, 'an inference').getByRole('tab')).toHaveCount(0);
});

for (const theme of ['light', 'dark'] as const) {
  test(`everybody can read it, on a phone as well, ${theme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width: 360, height: 800 });
    await page.goto(live.open(`#/overview${query(WATCHED)}`));
    await expect(tile(page).getByRole('tab').first()).toBeVisible();
    await settled(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(360);
    expect(await seriousOf(page)).toEqual([]);
  });
}

test('the analysis has the same bar', async ({ page }) => {
  await page.goto(report.open(`#/analysis/time_of_step${query(report.ids.gpu)}`));
  const figure = page.getByRole('figure');
  await expect(figure).toHaveAccessibleName(/time by cause/);
  await expect(figure.getByRole('tab').first()).toHaveAttribute('aria-selected', 'true');
});
