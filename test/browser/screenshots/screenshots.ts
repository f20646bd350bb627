import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { openPage, startBrowser } from '../../support/browser/chromium.ts';
import { startBusySystem } from './busy-system.ts';
import { smallPng } from './small-png.ts';

/** Writes pictures of every view of a busy system, light, dark and narrow, to `docs/images/dashboard`. Not a test of anything. */
const directory = fileURLToPath(new URL('../../../docs/images/dashboard/', import.meta.url));

const views: readonly { name: string; path: string; open?: (page: Page) => Promise<void> }[] = [
  { name: 'attention', path: '' },
  {
    name: 'approvals',
    path: 'approvals',
    open: async (page) => await page.getByText('builder-1 · builder').click(),
  },
  { name: 'agents', path: 'agents?agent=builder-1' },
  { name: 'conversations', path: 'conversations' },
  { name: 'conversation', path: 'conversations?thread=retry-storms' },
  {
    name: 'timeline',
    path: 'timeline?tool=release',
    open: async (page) => await page.locator('.line').filter({ hasText: 'awaiting approval' }).click(),
  },
  { name: 'dead-letters', path: 'dead' },
  { name: 'calls', path: 'calls?agent=builder-1&id=tests-2.4.0' },
  { name: 'tools', path: 'tools?role=builder&tool=deploy:release' },
  { name: 'ranking', path: 'tools?part=ranking' },
  { name: 'servers', path: 'servers?server=billing' },
  {
    name: 'system',
    path: 'system',
    open: async (page) => await page.getByText('a second').first().waitFor(),
  },
  {
    name: 'over-time',
    path: 'system?part=over-time&minutes=10',
    open: async (page) => await page.locator('.plot canvas').first().waitFor(),
  },
];

const looks = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 760 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 760 } },
  { name: 'narrow', colorScheme: 'light', viewport: { width: 390, height: 844 } },
] as const;

test('Every view is shown.', async () => {
  await using here = await startBusySystem();
  await mkdir(directory, { recursive: true });
  await using browser = await startBrowser();
  for (const { name: look, ...options } of looks) {
    await using opened = await openPage(browser, { ...options, reducedMotion: 'reduce' });
    const { page } = opened;
    await page.goto(await here.link());
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    for (const { name, path, open } of views) {
      await page.goto(`${here.origin}/ui/#/${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText('Reading …').count()).toBe(0);
      await open?.(page);
      await page.mouse.move(0, 0);
      await writeFile(`${directory}${name}-${look}.png`, smallPng(await page.screenshot()));
    }
  }
});
