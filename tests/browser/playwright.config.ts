// Tests the real page in a real browser: `xsp serve` and `xsp report` over real evaluations. See setup.ts.
//
// The browser is Chromium without its windows, which takes two thirds of the time. A trace of each step would take two
// thirds more: ask for it with --trace on, to see what a failed test did.
import { defineConfig } from '@playwright/test';

const build = new URL('../../build/browser/', import.meta.url).pathname;

export default defineConfig({
  testDir: '.',
  outputDir: `${build}failures`,
  globalSetup: './setup.ts',
  fullyParallel: true,
  workers: 2,
  timeout: 240_000,
  expect: { timeout: 60_000 },
  reporter: [['list']],
  use: {
    viewport: { width: 1280, height: 900 },
    screenshot: 'only-on-failure',
    launchOptions: { executablePath: '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'] },
  },
});
