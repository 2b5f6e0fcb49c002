import { defineConfig } from '@playwright/test';

/** Tests of the pages in the Chromium of the system: nothing is downloaded. */
export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  // A test waits for what the page says, never for a time. These limits are for machines many times slower.
  timeout: 300_000,
  expect: { timeout: 60_000 },
  workers: 2,
  // CI asks for one more attempt: a test that fails and then passes is reported as flaky, with what the first attempt
  // saw, and does not stop the rest. On a developer's machine it fails.
  retries: Number(process.env.RETRIES ?? 0),
  forbidOnly: true,
  reporter: 'list',
  use: {
    launchOptions: { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] },
    viewport: { width: 1300, height: 900 },
  },
});
