import type { Browser } from 'playwright-core';
import { afterAll, test as anywhere, beforeAll } from 'vitest';
import { chromiumPath, openPage, startBrowser } from './chromium.ts';

/**
 * Starts one browser for the tests of a file. Returns the `test` that defines them, and a function that opens a page. Without a browser
 * the tests fail on Linux x64, and are skipped elsewhere.
 */
export function browserTests() {
  const isMeant = chromiumPath !== undefined || (process.platform === 'linux' && process.arch === 'x64');
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (isMeant) browser = await startBrowser();
  });
  afterAll(async () => await browser?.close());
  return {
    test: anywhere.runIf(isMeant),
    openPage: (options?: Parameters<typeof openPage>[1]) => openPage(browser!, options),
  };
}
