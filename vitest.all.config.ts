import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** The tests of `npm test`, and those that it leaves out because they take long: npm run test:all. */
export default defineConfig({
  ...config,
  test: { ...config.test, env: { ...config.test?.env, SIGNALBOX_TEST_ALL: 'yes' } },
});
