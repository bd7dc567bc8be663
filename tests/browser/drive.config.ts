// This config runs no tests: it drives the page for pictures.sh and measure.sh, which start a server.
import { defineConfig } from '@playwright/test';
import tests from './playwright.config';

export default defineConfig({
  ...tests,
  globalSetup: [],
  testMatch: '*.drive.ts',
  workers: 1,
  timeout: 180_000,
});
