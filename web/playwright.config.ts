import { defineConfig } from '@playwright/test';

const PORT = Number(process.env['PORT'] ?? 4173);

/** Tests of the built page on made-up runs, in Debian's Chromium. */
export default defineConfig({
  testDir: 'tests/e2e',
  outputDir: 'test-results/run',
  fullyParallel: true,
  workers: 2,
  // Machines that test are busy; nothing here is timed.
  timeout: 150_000,
  expect: { timeout: 15_000 },
  retries: Number(process.env['PLAYWRIGHT_RETRIES'] ?? 0),
  reporter: [['list']],
  use: {
    baseURL: `http://localhost:${PORT}`,
    viewport: { width: 1280, height: 900 },
    launchOptions: {
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
    },
    trace: 'retain-on-failure',
  },
  webServer: {
    command: `npx vite preview --port ${PORT} --strictPort`,
    url: `http://localhost:${PORT}/healthz`,
    reuseExistingServer: true,
    timeout: 30_000,
  },
});
