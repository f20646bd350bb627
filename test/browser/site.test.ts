import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { browserTests } from '../support/browser/browser-tests.ts';

const { test, openPage } = browserTests();
const root = fileURLToPath(new URL('../..', import.meta.url));
const types: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
};

/** Serves the files of a folder and nothing else, as any host of static files does. */
async function serveFiles(folder: string): Promise<AsyncDisposable & { origin: string }> {
  const server = createServer(async ({ url = '' }, response) => {
    const path = normalize(decodeURIComponent(url.split('?')[0]!));
    const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
    try {
      const content = await readFile(file);
      response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream').end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('The documents are a site of static files: a reader goes from page to page, and finds a guide by searching.', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-site-'));
  try {
    await promisify(execFile)('npm', ['run', 'site', '-w', 'docs', '--', '--outDir', folder], { cwd: root });
    await using site = await serveFiles(folder);
    await using opened = await openPage();
    const { page, problems } = opened;
    await page.goto(`${site.origin}/`);
    await page.getByRole('link', { name: 'Five minutes' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Five minutes' }).waitFor();
    await page.getByRole('link', { name: 'Groups' }).first().click();
    await page.getByRole('heading', { level: 1, name: /group/i }).waitFor();
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('searchbox').fill('hold a tool');
    await page.locator('.result', { hasText: 'Approvals and holds' }).first().click();
    await page.getByRole('heading', { level: 1, name: /^Approvals and holds/ }).waitFor();
    expect(problems).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
