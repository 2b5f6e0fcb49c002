import { defineConfig } from '@playwright/test';

/** Tests of the pages in the Chromium of the system: nothing is downloaded. */
export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  timeout: 60_000,
  workers: 2,
  forbidOnly: true,
  reporter: 'list',
  use: {
    launchOptions: { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] },
    viewport: { width: 1300, height: 900 },
  },
});
