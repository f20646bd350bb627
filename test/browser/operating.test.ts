import { connectBroker } from '@signalbox/client';
import { listTokens } from '@signalbox/client/operator';
import { tempDir } from '@signalbox/testing';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { browserTests } from '../support/browser/browser-tests.ts';
import { type DashboardStack, startDashboardStack } from '../support/dashboard/dashboard-stack.ts';
import { eventsOf, serve } from '../support/serve/serve-command.ts';

const { test, openPage } = browserTests();

async function open(page: Page, here: DashboardStack, view: string, token?: string): Promise<void> {
  await page.goto(await here.link(token));
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await page.goto(`${here.origin}/ui/#/${view}`);
  await expect.poll(() => page.getByText('Reading …').count()).toBe(0);
}

test('A call that runs is cancelled in the page, which says before and after that it may have run; a result is shown to operators only.', async () => {
  await using here = await startDashboardStack();
  const bea = await here.stack.executor('bea', 'builder');
  await bea.execute({ name: 'mcp_counter__echo', arguments: { text: 'the answer' } }, { requestId: 'quick' });
  const called = bea.execute(
    { name: 'mcp_counter__slow', arguments: { ms: 100_000 } },
    { requestId: 'long' },
  );
  await expect.poll(() => here.stack.ran('slow').length).toBe(1);
  await using opened = await openPage();
  const { page, problems } = opened;
  await open(page, here, 'agents?filter=working');
  await page.getByRole('row').filter({ hasText: 'bea' }).filter({ hasText: 'counter:slow' }).waitFor();
  await page.goto(`${here.origin}/ui/#/calls`);
  await page.getByText('1 running, 0 waiting').waitFor();
  await page.getByRole('row').filter({ hasText: 'counter:slow' }).click();
  await page.getByLabel('Reason, which the agent is told').fill('wrong branch');
  await page.getByRole('button', { name: 'Cancel call…' }).click();
  await page.getByText('It runs: it may take effect all the same.').waitFor();
  await page.getByRole('button', { name: 'Cancel call' }).click();
  await page.getByText('counter:slow is cancelled. It may have run').waitFor();
  expect(await called).toMatchObject({
    error: { code: 'cancelled', message: expect.stringContaining('wrong branch'), may_have_run: true },
  });
  await page.getByRole('row').filter({ hasText: 'counter:echo' }).click();
  const result = page.getByRole('region', { name: 'Result' });
  await expect.poll(() => result.textContent()).toContain('the answer');
  expect(problems).toEqual([]);

  const { token } = await here.person('olga', 'observer');
  await using watching = await openPage();
  await open(watching.page, here, 'calls?agent=bea&id=quick', token);
  await watching.page.getByText('Its result is shown to operators only.').waitFor();
  expect(await watching.page.locator('body').textContent()).not.toContain('the answer');
  await watching.page.goto(`${here.origin}/ui/#/system`);
  await watching.page.getByRole('button', { name: 'Audit log' }).waitFor();
  expect(await watching.page.getByRole('button', { name: /Backup|Issue|Cancel/ }).count()).toBe(0);
});

test('A token is shown once: it connects, stands in no address and no storage, and is gone when it is closed.', async () => {
  await using here = await startDashboardStack({ counter: false });
  await using opened = await openPage();
  const { page } = opened;
  await open(page, here, 'system');
  await page.getByRole('button', { name: 'Issue a token' }).click();
  await page.getByLabel('Agent id').fill('nina');
  await page.getByLabel('Role', { exact: true }).fill('builder');
  await page.getByRole('button', { name: 'Issue', exact: true }).click();
  const shown = page.getByRole('region', { name: 'Token', exact: true });
  const token = (await shown.textContent())!;
  await using nina = await connectBroker({ url: here.stack.broker.url, token, agent: 'nina' });
  expect(nina.welcome.role).toBe('builder');
  expect(page.url()).not.toContain(token);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(
    token,
  );
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('row').filter({ hasText: 'nina' }).click();
  expect(await page.locator('body').textContent()).not.toContain(token);
  await page.getByRole('button', { name: 'Revoke…' }).click();
  await page.getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('A token of nina is revoked').waitFor();
  const operator = await here.stack.client('operator', 'operator');
  expect((await listTokens(operator)).some(({ agent }) => agent === 'nina')).toBe(false);
});

test('A backup is made in the page, and what is in it is listed; one into a place that is taken says why not.', async () => {
  await using here = await startDashboardStack({ counter: false });
  await using directory = await tempDir();
  await using opened = await openPage();
  const { page } = opened;
  await open(page, here, 'system?part=backup');
  await page.getByLabel('An empty or new directory').fill(`${directory.path}/today`);
  await page.getByRole('button', { name: 'Back up now' }).click();
  await page.getByRole('row').filter({ hasText: 'messages.db' }).waitFor();
  await page.getByRole('button', { name: 'Back up now' }).click();
  await page.getByRole('alert').filter({ hasText: 'failed' }).waitFor();
});

test('An operator stops a turn of worker serve by keys, after a question; an observer sees no button.', async () => {
  await using here = await startDashboardStack({ counter: false });
  await using home = await tempDir();
  const args = ['--data', here.stack.broker.dataDir, '--role', 'builder', '--stop-timeout', '200ms'];
  const place = { brokerUrl: here.stack.broker.url, home: home.path };
  const { run } = await serve(place, 'rosa', 'sleep 600', args);
  await using _run = run;
  const walt = await here.stack.clientAt('walt');
  const asked = walt.request('rosa', 'ask', 'work', { timeoutMs: 60_000, thread: 'release' });
  await expect.poll(() => eventsOf(run, 'turn_started')).toHaveLength(1);
  await using opened = await openPage();
  const { page, problems } = opened;
  await open(page, here, 'agents?agent=rosa');
  await page.getByRole('link', { name: 'ask of walt' }).waitFor();
  const stop = page.getByRole('button', { name: 'Stop…' });
  await stop.focus();
  await page.keyboard.press('Enter');
  await page.getByText('Stop this turn of rosa?').waitFor();
  // A key that is held down presses the button that cancels.
  await page.keyboard.press('Enter');
  await stop.focus();
  await page.keyboard.press('Enter');
  await page.getByText('Stop this turn of rosa?').waitFor();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText('The turn of rosa is stopped').waitFor();
  expect(await asked).toMatchObject({
    status: 'undeliverable',
    detail: expect.stringMatching(/^stopped by operator/),
  });
  await expect.poll(() => eventsOf(run, 'turn_ended')).toMatchObject([{ outcome: 'stopped_by_operator' }]);
  // The page shows the end of the turn a moment later. Until then the button is that of the turn that is over.
  await stop.waitFor({ state: 'detached' });
  const again = walt.request('rosa', 'ask', 'more', { timeoutMs: 60_000 });
  const { token } = await here.person('olga', 'observer');
  await using watching = await openPage();
  await open(watching.page, here, 'agents?agent=rosa', token);
  await watching.page
    .getByRole('row')
    .filter({ hasText: /rosa.*working/ })
    .waitFor();
  expect(await watching.page.getByRole('button', { name: /Stop/ }).count()).toBe(0);
  await page.getByRole('button', { name: 'Stop…' }).click();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  expect(await again).toMatchObject({ status: 'undeliverable' });
  expect(problems).toEqual([]);
});
