import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** The tests of `npm test`, and those in files `*.long.test.ts`: npm run test:long. Each command has a process, as for users. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    env: { ...config.test?.env, EACH_COMMAND_A_PROCESS: '1' },
    exclude: config.test?.exclude?.filter((files) => files !== '**/*.long.test.ts'),
  },
});
