import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** The tests of `npm test`, and those in files `*.long.test.ts`: npm run test:long. */
export default defineConfig({
  ...config,
  test: { ...config.test, exclude: config.test?.exclude?.filter((files) => files !== '**/*.long.test.ts') },
});
