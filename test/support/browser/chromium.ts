import { spawnSync } from 'node:child_process';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/**
 * Finds a Chromium: `CHROMIUM_PATH`, one on the PATH, or that of the optional package `@sparticuz/chromium`. Returns `undefined` where
 * there is none: a failure on Linux x64, for which the package has one, and a reason to skip elsewhere.
 */
async function findChromium(): Promise<string | undefined> {
  if (process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH;
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const { default: packed } = await import('@sparticuz/chromium');
  return await packed.executablePath();
}

export const chromiumPath = await findChromium();

/** The Chromium of the package has no sandbox of its own, and a machine without graphics needs software to draw. */
const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--headless=shell'];

/** Starts a browser, which is closed when it is disposed. */
export async function startBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('there is no Chromium; name one with CHROMIUM_PATH');
  return await chromium.launch({ executablePath: chromiumPath, args });
}

/** A page with a profile of its own, and the errors that occurred in it. */
export interface TestPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of scripts, and messages of the console: refusals by the content security policy among them. */
  readonly problems: string[];
}

/** Opens a page with a profile of its own. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<TestPage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    ...options,
  });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // Refused and broken requests are part of the tests, and the page says so itself.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text());
  });
  return { page, problems, [Symbol.asyncDispose]: () => context.close() };
}
