// What is made with the same server and browser on request, one after the other: the README's pictures, and
// measurements. `node node_modules/@playwright/test/cli.js test -c make.config.ts [pictures|measure]`
import { defineConfig } from '@playwright/test';
import tests from './playwright.config';

export default defineConfig({
  ...tests,
  testMatch: '*.make.ts',
  fullyParallel: false,
  workers: 1,
  timeout: 600_000,
});
