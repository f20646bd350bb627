import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** Installs public MCP servers from a registry, and compares them with what agents see of them: npm run test:servers. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ['test/servers/**/*.test.ts'],
    exclude: [],
    globalSetup: ['test/support/own-home.ts', 'test/support/bundles.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    reporters: ['default'],
  },
});
