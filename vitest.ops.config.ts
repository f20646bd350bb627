import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** These tests need programs of Debian's packages. A test whose program is not here is skipped, and the last line counts it. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ['test/ops/**/*.test.ts'],
    exclude: [],
    globalSetup: ['test/support/own-home.ts', 'test/support/bundles.ts'],
    reporters: ['default'],
  },
});
