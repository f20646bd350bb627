import { defineConfig } from 'vitest/config';
import config from './vitest.postgres.config.ts';

const stores = new URL('./test/support/postgres/broker-stores.ts', import.meta.url);

/** Runs tests of what a broker promises once more, with its stores on PostgreSQL: npm run test:postgres. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    env: { ...config.test?.env, SIGNALBOX_TEST_STORES: stores.href },
    include: [
      'test/broker/**/*.test.ts',
      'test/forgery/**/*.test.ts',
      'test/model/broker-model*.test.ts',
      'test/abuse/frames.test.ts',
    ],
    exclude: [
      // They are about files.
      'test/broker/damage*.test.ts',
      'test/broker/disk*.test.ts',
    ],
  },
});
