import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** The agents that speak ACP and are installed, each with an imitation of its model: npm run test:clients:served. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ['test/clients/served.agents.test.ts'],
    exclude: [],
    globalSetup: ['test/support/own-home.ts', 'test/support/bundles.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    reporters: ['default'],
  },
});
