import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** Installs the packages as users do, from tarballs and a registry: npm run test:packages. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ['test/packages/**/*.test.ts'],
    exclude: [],
    globalSetup: ['test/support/bundles.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    reporters: ['default'],
  },
});
