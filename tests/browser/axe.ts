// Looks for problems of access with axe.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

// Returns a line for each serious problem of the page that breaks one of `rules`; without them, of axe's rules. What is
// in order is not listed, and frames are not looked into: no page has any.
export async function seriousOf(page: Page, rules?: string[]): Promise<string[]> {
  const axe = new AxeBuilder({ page })
    .options({ resultTypes: ['violations'], preload: false })
    .setLegacyMode();
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`);
}
