import { defineConfig } from 'vitest/config';
import config from './vitest.browser.config.ts';

/** Takes pictures of the dashboard for the documents: npm run screenshots. */
export default defineConfig({
  ...config,
  test: { ...config.test, include: ['test/browser/screenshots/screenshots.ts'] },
});
