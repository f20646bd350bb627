import { issueToken } from '@signalbox/client/operator';
import { sendOrchestratorRequest } from '@signalbox/client/operator/internal';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { browserTests } from '../support/browser/browser-tests.ts';
import { type DashboardStack, startDashboardStack } from '../support/dashboard/dashboard-stack.ts';
import { makeDeadLetter } from '../support/dashboard/hostile.ts';

const { test, openPage } = browserTests();

async function open(page: Page, here: DashboardStack, view: string): Promise<void> {
  await page.goto(await here.link());
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await show(page, here, view);
}

async function show(page: Page, here: DashboardStack, view: string): Promise<void> {
  await page.goto(`${here.origin}/ui/#/${view}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.getByText('Reading …').count()).toBe(0);
}

const title = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

test('Keys go to a view and to its search, and a question mark lists them; keys typed into a field stay there.', async () => {
  await using here = await startDashboardStack({ counter: false });
  await using opened = await openPage();
  const { page, problems } = opened;
  await open(page, here, '');
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keys' });
  expect(await keys.textContent()).toContain('Dead letters');
  await page.keyboard.press('Escape');
  await keys.waitFor({ state: 'detached' });
  await page.keyboard.type('gt');
  await title(page, 'Timeline');
  await page.getByRole('searchbox').waitFor();
  await page.keyboard.type('/g?/');
  expect(await page.getByRole('searchbox').inputValue()).toBe('g?/');
  expect(await keys.count()).toBe(0);
  // The view of servers has no search.
  await page.keyboard.press('Tab');
  await show(page, here, 'servers');
  await page.keyboard.type('/');
  await title(page, 'Conversations');
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT');
  await page.keyboard.type('jitter');
  await expect.poll(() => page.url()).toContain('jitter');
  expect(problems).toEqual([]);
});

test('At 390 pixels rows are cards with all that a wide table shows, and the end of a long name is never cut.', async () => {
  await using here = await startDashboardStack({
    budgets: { perWorker: { calls: 10, windowMs: 3_600_000 } },
  });
  const agent = `${'bea-of-the-team-for-papers-'.repeat(3)}one`;
  const bea = await here.stack.executor(agent, 'builder');
  await bea.execute({ name: 'mcp_counter__echo', arguments: { text: 'x' } });
  await using opened = await openPage({ viewport: { width: 390, height: 800 } });
  const { page } = opened;
  await open(page, here, 'calls');
  const card = page.getByRole('row').filter({ hasText: agent });
  for (const label of ['Tool', 'Agent', 'Server', 'Progress', 'Took', 'Size', 'Came'])
    await card.getByText(label, { exact: true }).waitFor();
  for (const view of ['calls', 'agents', 'system', 'system?part=audit', 'tools']) {
    await show(page, here, view);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow, view).toBeLessThanOrEqual(0);
  }
  // No figure is cut, and the expiry of a token reads as in `token list`.
  await show(page, here, 'system');
  const figures = page.getByRole('region', { name: 'Figures' });
  const hidden = await figures.evaluate((one) => one.scrollHeight - one.clientHeight);
  expect(hidden).toBeLessThanOrEqual(0);
  const operator = await here.stack.client('operator', 'operator');
  await issueToken(operator, { agent: 'ann', role: 'builder', ttlMs: 30 * 86_400_000 });
  await page.getByText('in 30 d').waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  await show(page, here, 'calls');
  const ends = page.locator('td:has(.parted)').filter({ hasText: agent });
  const isCut = await ends.first().evaluate((cell) => {
    const end = cell.querySelector('.parted bdi:last-child')!.getBoundingClientRect();
    return end.width === 0 || end.right > cell.getBoundingClientRect().right + 1;
  });
  expect(isCut).toBe(false);
  await show(page, here, `agents?agent=${agent}`);
  await page.getByText('1 of 10 calls in 60 min used, 9 left').waitFor();
});

test('A refused call leads to the rule that refused it, and the audit log names its tool; a link keeps the chosen kind.', async () => {
  const allowlist = RoleToolAllowlist.fromEntries([
    ['writer', []],
    ['operator', ['*']],
  ]);
  await using here = await startDashboardStack({ allowlist });
  const wen = await here.stack.client('wen', 'writer');
  // A worker would refuse it by itself, and nobody would see it.
  const call = { op: 'call' as const, tool: 'mcp_counter__echo', arguments: { text: 'x' } };
  const reply = await sendOrchestratorRequest(wen, 'orchestrator', call, { timeoutMs: 10_000 });
  expect(reply).toMatchObject({ error: { code: 'permission_denied' } });
  await using opened = await openPage();
  const { page, problems } = opened;
  await open(page, here, 'calls');
  await page.getByRole('row').filter({ hasText: 'permission denied' }).click();
  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByText('is not allowed for role').waitFor();
  const left = await page.evaluate(() => {
    const [table, last] = ['.table', 'th:last-child'].map((one) =>
      document.querySelector(one)!.getBoundingClientRect(),
    );
    return table!.right - last!.right;
  });
  expect(left).toBeLessThan(2);
  await page.keyboard.press('Escape');
  await details.waitFor({ state: 'detached' });
  // The focus is back at the row, for people who use only the keyboard.
  const focused = await page.evaluate(() => document.activeElement?.textContent);
  expect(focused).toContain('permission denied');
  await page.keyboard.press('Enter');
  await details.getByRole('link', { name: 'Explain' }).click();
  await page.getByText('writer may not call counter:echo').waitFor();
  await show(page, here, 'system?part=audit');
  const refused = page.getByRole('row').filter({ hasText: 'call refused' });
  await refused.filter({ hasText: 'counter:echo' }).waitFor();
  const isCut = await refused
    .locator('td')
    .first()
    .evaluate((cell) => cell.scrollWidth > cell.clientWidth);
  expect(isCut).toBe(false);
  await page.getByLabel('Kind').selectOption('changes');
  await page.getByRole('row').filter({ hasText: 'token issued' }).first().waitFor();
  await page.reload();
  await page.getByRole('row').filter({ hasText: 'token issued' }).first().waitFor();
  expect(await refused.count()).toBe(0);
  expect(page.url()).toContain('kind=change');
  expect(problems).toEqual([]);
});

test('A notice covers no button, and times stand under their day.', async () => {
  await using here = await startDashboardStack({ counter: false });
  await makeDeadLetter(here.stack, 'locked', 'a');
  await using opened = await openPage();
  const { page } = opened;
  await open(page, here, 'agents?agent=walt');
  await page.getByLabel('Send a note').fill('hello');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('The note for walt is on disk').waitFor();
  const covered = await page.evaluate(() => {
    const notice = document.querySelector('.notice')!.getBoundingClientRect();
    const hit = (x: number, y: number) => document.elementFromPoint(x, y);
    return [...document.querySelectorAll('main :is(button, a, textarea)')].filter((one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      const isUnder =
        left < notice.right && right > notice.left && top < notice.bottom && bottom > notice.top;
      return isUnder && !one.contains(hit((left + right) / 2, (top + bottom) / 2));
    }).length;
  });
  const side = await page.evaluate(() => {
    const [place, notices] = ['.place', '.notices'].map((name) =>
      document.querySelector(name)!.getBoundingClientRect(),
    );
    return notices!.top - place!.bottom;
  });
  expect([covered, side >= 0]).toEqual([0, true]);
  const day = new Date().toLocaleDateString('sv');
  for (const view of ['timeline', 'system?part=audit']) {
    await show(page, here, view);
    await page.getByText(day, { exact: true }).waitFor();
  }
});

test('Roles are chosen among those of the configuration, and another one can be named.', async () => {
  const listed = () => ({ roles: { builder: {}, writer: {} } as never, unlisted: 'deny' as const });
  await using here = await startDashboardStack({ listed });
  await using opened = await openPage();
  const { page } = opened;
  await open(page, here, 'system?issue=new');
  await page.getByLabel('Agent id').fill('nina');
  const role = page.getByRole('combobox', { name: 'Role', exact: true });
  expect(await role.locator('option').allTextContents()).toEqual([
    ...['choose a role', 'builder', 'writer', 'another one'],
  ]);
  await role.selectOption('writer');
  await page.getByRole('button', { name: 'Issue', exact: true }).click();
  await page.getByText('A token for nina is issued').waitFor();
  await show(page, here, 'tools?tool=counter:echo');
  await page.getByRole('combobox', { name: 'May the role' }).selectOption('another one');
  await page.getByLabel('Name of the role').fill('guest');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText(/guest may (not )?call/).waitFor();
});

test('A server that fails is first asked why, and what it wrote stands before anything else.', async () => {
  const broken = {
    type: 'stdio' as const,
    command: 'sh',
    args: ['-c', 'echo "no licence for this machine" >&2; exit 1'],
  };
  await using here = await startDashboardStack({ counter: false, servers: { broken } });
  await using opened = await openPage();
  const { page } = opened;
  await open(page, here, '');
  await show(page, here, 'servers?server=broken');
  await page.getByRole('button', { name: 'Reload' }).click();
  await page.getByRole('row').filter({ hasText: 'exited' }).waitFor();
  await show(page, here, '');
  const item = page.getByRole('listitem').filter({ hasText: 'broken' });
  await item.getByRole('button', { name: 'Reload' }).waitFor();
  expect(await item.locator('.do > *').allTextContents()).toEqual(['Why?', 'Reload']);
  await item.getByRole('link', { name: 'Why' }).click();
  const first = page.getByRole('complementary', { name: 'Details' }).locator('header + *');
  await expect.poll(() => first.textContent()).toContain('no licence for this machine');
});

test('A bookmark asks for a token, and shows its view; only people and those who decide get in, and no storage has the token.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const alice = await here.person('alice');
  const operator = await here.stack.client('operator', 'operator');
  const walt = await issueToken(operator, { agent: 'walt', role: 'builder' });
  await using opened = await openPage();
  const { page, problems } = opened;
  await page.goto(`${here.origin}/ui/#/dead`);
  const field = page.getByLabel('Or paste the token of a person');
  for (const [token, refusal] of [
    [walt.token, /needs a token of an operator/],
    [`${alice.token.slice(0, -4)}AAAA`, /not known|revoked/],
    ['nonsense', /token/],
  ] as const) {
    await field.fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: refusal }).waitFor();
  }
  await field.fill(alice.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await title(page, 'Dead letters');
  await page.getByText('operator.alice', { exact: true }).waitFor();
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  expect(kept + page.url()).not.toContain(alice.token);
  expect(problems).toEqual([]);
});

test('Only what should be known is unknown: an agent that announces nothing has a dash.', async () => {
  await using here = await startDashboardStack();
  await here.stack.client('quiet');
  await using opened = await openPage();
  const { page } = opened;
  await open(page, here, 'agents');
  await page.getByRole('row').filter({ hasText: 'quiet' }).waitFor();
  for (const view of ['agents?agent=quiet', 'servers?server=counter', 'calls', 'system']) {
    await show(page, here, view);
    expect(await page.locator('.unknown').allTextContents(), view).toEqual([]);
  }
});
