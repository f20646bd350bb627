import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { rankTools, revokeAgentTokens } from '@signalbox/client/operator';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { browserTests } from '../support/browser/browser-tests.ts';
import { type DashboardStack, startDashboardStack } from '../support/dashboard/dashboard-stack.ts';

const { test, openPage } = browserTests();

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Makes calls of two tools, one of which fails, and waits until they are in a sample, which is taken each second. */
async function callTools({ stack }: DashboardStack): Promise<void> {
  const bea = await stack.executor('bea', 'builder');
  for (let n = 0; n < 5; n++)
    await bea.execute({ name: 'mcp_counter__echo', arguments: { text: 'x'.repeat(n) } });
  for (const name of ['mcp_counter__count', 'mcp_counter__crash']) await bea.execute({ name, arguments: {} });
  const operator = await stack.client('operator', 'operator');
  const ranked = async () =>
    (await rankTools(operator, 'orchestrator', { lastMs: 600_000 })).tools.map(({ name, calls }) => [
      name,
      calls,
    ]);
  await expect.poll(ranked, { timeout: 10_000 }).toContainEqual(['counter:echo', 5]);
  await expect.poll(ranked).toContainEqual(['counter:crash', 1]);
}

async function show(page: Page, here: DashboardStack, view: string): Promise<void> {
  await page.goto(`${here.origin}/ui/#/${view}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.getByText('Reading …').count()).toBe(0);
}

test('Tools are ranked, and the charts of one are loaded when it is opened, read by keys, and shown as a table.', async () => {
  await using here = await startDashboardStack();
  await callTools(here);
  await using opened = await openPage();
  const { page, problems } = opened;
  const scripts: string[] = [];
  page.on('response', (response) => scripts.push(new URL(response.url()).pathname));
  await page.goto(await here.link());
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await show(page, here, 'tools');
  await page.getByRole('button', { name: 'Ranking' }).click();
  const rows = () => page.locator('tbody tr').allTextContents();
  await expect.poll(async () => (await rows())[0]).toMatch(/^counter:echo5–/);
  const withLine = (name: string) =>
    page.locator('tbody tr', { hasText: name, has: page.locator('.row-line polyline') });
  for (const tool of ['counter:echo', 'counter:count', 'counter:crash']) await withLine(tool).waitFor();
  await page.getByRole('button', { name: 'By errors' }).click();
  await expect.poll(async () => (await rows())[0]).toMatch(/^counter:crash11/);
  await show(page, here, 'servers');
  await withLine('counter').waitFor();
  await show(page, here, 'tools?part=ranking&by=errors');
  await expect.poll(async () => (await rows())[0]).toMatch(/^counter:crash11/);
  const draws = () => scripts.filter((path) => /\/draw-[^/]+\.(js|css)$/.test(path));
  expect(draws()).toEqual([]);
  // By keyboard alone.
  await page.locator('tbody tr[tabindex="0"]').focus();
  await page.keyboard.press('Enter');
  await page
    .getByRole('complementary', { name: 'Details' })
    .getByRole('heading', { name: 'Time of a call' })
    .waitFor();
  await expect.poll(() => page.locator('.plot canvas').count()).toBeGreaterThanOrEqual(2);
  expect(
    draws()
      .map((path) => path.split('.').at(-1))
      .sort(),
  ).toEqual(['css', 'js']);
  expect(page.url()).toContain('ranked=counter%3Acrash');
  const chart = page.getByRole('group', { name: /^Calls, by outcome: chart/ });
  await chart.focus();
  const legend = page.locator('.chart').first().locator('.legend');
  const newest = await legend.locator('.quiet').textContent();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await expect.poll(() => legend.locator('.quiet').textContent()).not.toBe(newest);
  await page.getByText('Table').first().click();
  const table = page.getByRole('region', { name: 'Calls, by outcome: table' });
  await expect.poll(() => table.locator('thead').textContent()).toBe('Untiloutcome_unknown');
  await expect.poll(() => table.locator('tbody').textContent()).toMatch(/[1-9].* a minute/);
  // What is in the address is what is shown.
  await page.reload();
  await page.getByRole('heading', { name: 'counter:crash' }).waitFor();
  await page.getByRole('button', { name: '10 min' }).click();
  await expect.poll(() => page.url()).toContain('minutes=10');
  await expect.poll(() => page.locator('.plot canvas').count()).toBeGreaterThanOrEqual(2);
  expect(problems).toEqual([]);
});

test('Charts of System, Agents and Servers have no axe finding, light and dark, wide and on a telephone; without an orchestrator the page says so.', async () => {
  await using here = await startDashboardStack();
  await callTools(here);
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const) {
    await using opened = await openPage({ colorScheme, viewport: { width, height: 780 } });
    const { page, problems } = opened;
    await page.goto(await here.link());
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    for (const [view, title] of [
      ['system?part=over-time&minutes=10', 'Messages'],
      ['agents?part=over-time', 'Connections, by role'],
      ['servers?part=over-time', 'Calls, by outcome'],
      ['servers?part=over-time&server=counter', 'Time of a call: p95, by tool'],
      ['tools?part=ranking&ranked=counter%3Aecho', 'Bytes of replies'],
    ] as const) {
      await show(page, here, view);
      await page.getByRole('heading', { name: title }).waitFor();
      await expect.poll(() => page.locator('.plot canvas').count()).toBeGreaterThan(0);
      await page.getByText('Table').first().click();
      const found = await page.evaluate(
        `${axe}; axe.run(document, {}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' ')))`,
      );
      expect(found, `${colorScheme} ${width} ${view}`).toEqual([]);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, `${view} at ${width}`).toBeLessThanOrEqual(0);
    }
    expect(problems).toEqual([]);
  }
  await revokeAgentTokens(await here.stack.client('operator', 'operator'), 'orchestrator');
  await using opened = await openPage();
  const { page } = opened;
  await page.goto(await here.link());
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  for (const view of ['servers?part=over-time', 'tools?part=ranking']) {
    await show(page, here, view);
    await page.getByText("no orchestrator named 'orchestrator' is connected").waitFor();
  }
  await show(page, here, 'agents?part=over-time');
  await expect.poll(() => page.locator('.plot canvas').count()).toBeGreaterThan(0);
  // The figures are there as tables, too, where nothing can be drawn.
  await using plain = await openPage();
  await plain.page.route(/\/draw-[^/]+\.js$/, (route) => route.abort());
  await plain.page.goto(await here.link());
  await plain.page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await show(plain.page, here, 'agents?part=over-time');
  await plain.page.getByText("Charts can't be drawn in this browser").waitFor();
  await plain.page.getByRole('region', { name: 'Connections, by role: table' }).waitFor();
});
