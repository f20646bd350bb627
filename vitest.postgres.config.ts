import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/**
 * These tests need PostgreSQL: that of an optional package, or one that SIGNALBOX_TEST_POSTGRES names. Elsewhere they are skipped and
 * counted.
 */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ['test/postgres/**/*.test.ts'],
    exclude: [],
    maxWorkers: 2,
    reporters: ['default'],
  },
});
