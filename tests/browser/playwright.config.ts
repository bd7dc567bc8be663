// Tests the real page in a real browser: `xsp serve` and `xsp report` over real evaluations. See setup.ts.
import { defineConfig } from '@playwright/test';

const build = new URL('../../build/browser/', import.meta.url).pathname;

export default defineConfig({
  testDir: '.',
  outputDir: `${build}failures`,
  globalSetup: './setup.ts',
  fullyParallel: true,
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: [['list']],
  use: {
    viewport: { width: 1280, height: 900 },
    screenshot: 'only-on-failure',
    trace: 'retain-on-failure',
    launchOptions: { executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] },
  },
});
