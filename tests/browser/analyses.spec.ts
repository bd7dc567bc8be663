// Every analysis of the catalogue is shown, live and in a report, or the page says why it is not.
import { ask, expect, live, query, report, test } from './page';

for (const place of [live, report]) {
  for (const kind of ['gpu', 'cpu'] as const) {
    test(`every analysis of the ${kind} evaluation, ${place.name}`, async ({ page }) => {
      test.setTimeout(240_000);
      const { analyses } = await ask(page, '/catalogue');
      for (const one of analyses) {
        await page.goto(place.open(`#/analysis/${one.name}${query(place.ids[kind])}`));
        await test.step(one.name, async () => {
          const main = page.getByRole('main');
          await expect(main.getByRole('heading', { name: one.title }).first()).toBeVisible();
          const id = encodeURIComponent(live.ids[kind]);
          const rows = await ask(page, `/evaluations/${id}/analyses/${one.name}`);
          if (rows.not_measured) {
            await expect(main.getByText(/not measured/).filter({ visible: true })).not.toHaveCount(
              0,
            );
            return;
          }
          await expect(main.getByRole('table').or(main.getByRole('grid')).first()).toBeVisible();
          const charts = one.views.filter((view) => view.kind !== 'table').length;
          const drawn = main
            .getByRole('figure')
            .or(main.getByText(/^No chart of .+: no row has it/));
          if (charts > 0) await expect(drawn).not.toHaveCount(0);
        });
      }
    });
  }
}
