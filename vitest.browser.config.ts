import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** These tests need a Chromium. Where there is none, they fail on Linux x64, and are skipped and counted elsewhere. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ['test/browser/**/*.test.ts'],
    exclude: [],
    globalSetup: ['test/support/own-home.ts', 'test/support/bundles.ts'],
    maxWorkers: 2,
    reporters: ['default'],
  },
});
