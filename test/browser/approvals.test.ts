import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { counterServer, readCounter } from '@signalbox/testing';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { browserTests } from '../support/browser/browser-tests.ts';
import { cleanEnv, jsonOf, signalboxArgv } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';
import { type AskingDashboard, startAskingDashboard } from '../support/dashboard/asking-dashboard.ts';
import { hostileText, shownHostileText } from '../support/dashboard/hostile.ts';

const { test, openPage } = browserTests();

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const count = 'mcp_counter__count';

/** Signs in, and shows the approvals. */
async function openApprovals(page: Page, here: AskingDashboard, token?: string): Promise<void> {
  await page.goto(await here.link(token));
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.goto(`${here.origin}/ui/#/approvals`);
  await page.getByRole('heading', { name: 'Approvals' }).waitFor();
}

/** Sends a request as a script of the page would, and returns its status. */
async function sendByHand(page: Page, path: string, params: object): Promise<number> {
  return await page.evaluate(
    async ([to, body]) => {
      const headers = {
        'x-signalbox-key': localStorage.getItem('signalbox-key')!,
        'content-type': 'application/json',
        'idempotency-key': crypto.randomUUID(),
      };
      return (await fetch(`/api/${to}`, { method: 'POST', headers, body: JSON.stringify(body) })).status;
    },
    [path, params] as const,
  );
}

test('A call of a real agent outlives kill -9 of broker, orchestrator and face, runs once when a person approves it, and is answered.', async () => {
  let counted = '';
  await using workspace = await startWorkspace(
    (directory) => {
      counted = join(directory, 'counter.jsonl');
      return JSON.stringify({
        broker: { listen: '127.0.0.1:0', data: './state' },
        mcpServers: { counter: counterServer(counted) },
        roles: { builder: { tools: ['mcp_counter__*'], ask: [count] } },
      });
    },
    { face: true },
  );
  const { broker, orchestrator, face } = workspace.ready;
  const { env } = await workspace.agent('bea', 'builder');
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: signalboxArgv(['worker', 'mcp']),
    stderr: 'ignore',
    env: cleanEnv({ ...env, SIGNALBOX_URL: broker.socket! }),
  });
  await client.connect(transport);
  await using _closing = { [Symbol.asyncDispose]: () => client.close() };
  const called = client.callTool(
    { name: count, arguments: { path: '/srv/prod' } },
    { timeout: 200_000, onprogress: () => {} },
  );
  await using opened = await openPage();
  const { page } = opened;
  const { links } = jsonOf(await workspace.run(['dashboard', '--json'])) as { links: string[] };
  await page.goto(links[0]!);
  const waiting = page.getByRole('listitem').filter({ hasText: '/srv/prod' });
  await waiting.waitFor();
  for (const [name, pid] of [
    ['broker', broker.pid],
    ['orchestrator', orchestrator.pid],
    ['face', face!.pid],
  ] as const) {
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => workspace.up.stderr()).toContain(`the ${name} is back`);
  }
  await page.getByText('live', { exact: true }).waitFor();
  await waiting.waitFor();
  expect(readCounter(counted)).toEqual([]);
  await waiting.getByRole('button', { name: 'Approve…' }).click();
  await page.getByRole('button', { name: 'Approve once' }).click();
  expect(await called).toMatchObject({ structuredContent: { n: 1 } });
  await waiting.waitFor({ state: 'detached' });
  expect(readCounter(counted).filter(({ at }) => at === 'start')).toHaveLength(1);
});

test('Calls are decided on by keyboard, a key that is held down confirms nothing, and what was decided is gone at once.', async () => {
  await using here = await startAskingDashboard();
  const bea = await here.stack.executor('bea', 'builder');
  const first = bea.execute({ name: count, arguments: { n: 1 } });
  await here.waiting(1);
  const second = bea.execute({ name: count, arguments: { n: 2 } });
  await here.waiting(2);
  await using opened = await openPage();
  const { page, problems } = opened;
  await openApprovals(page, here);
  await expect.poll(() => page.title()).toBe('(2) Approvals · Signalbox');
  // The title is of another read than the list.
  await page.getByText('2 calls wait for a decision').waitFor();
  await page.keyboard.press('j');
  await page.getByRole('complementary', { name: 'Details' }).getByText('"n": 1').waitFor();
  const confirm = page.getByRole('button', { name: 'Approve once' });
  await page.keyboard.down('a');
  await confirm.waitFor();
  // Each further `down` of a key that is down is a repetition.
  for (let repeated = 0; repeated < 5; repeated++) await page.keyboard.down('a');
  await page.keyboard.up('a');
  await page.keyboard.press('Escape');
  expect(await confirm.count()).toBe(0);
  await page.getByRole('button', { name: 'Approve…' }).focus();
  for (let repeated = 0; repeated < 5; repeated++) await page.keyboard.down('Enter');
  await page.keyboard.up('Enter');
  expect(await confirm.count()).toBe(1);
  expect(here.runs()).toBe(0);
  await page.keyboard.press('Enter');
  expect(await first).toHaveProperty('result.success', true);
  // The next one is there, and nothing is decided on it.
  await page.getByRole('complementary', { name: 'Details' }).getByText('"n": 2').waitFor();
  for (let repeated = 0; repeated < 5; repeated++) await page.keyboard.down('d');
  await page.keyboard.up('d');
  const reason = page.getByRole('textbox', { name: 'Reason' });
  expect(await reason.inputValue()).toBe('');
  await page.keyboard.press('Enter');
  await page.keyboard.type('not on Fridays');
  await page.keyboard.press('Enter');
  expect((await second).error?.message).toContain('not on Fridays');
  await page.getByText('No tool call waits for a person.').waitFor();
  await expect.poll(() => page.title()).toBe('Approvals · Signalbox');
  await page.getByRole('button', { name: 'Ended' }).click();
  const rows = () => page.locator('tbody tr').allTextContents();
  await expect
    .poll(rows)
    .toEqual([expect.stringContaining('not on Fridays'), expect.stringContaining('approved')]);
  expect(here.runs()).toBe(1);
  expect(problems).toEqual([]);
});

test('Of two operators who decide at once the second one hears who was first.', async () => {
  await using here = await startAskingDashboard();
  const bea = await here.stack.executor('bea', 'builder');
  const called = bea.execute({ name: count });
  const [{ id } = { id: '' }] = await here.waiting(1);
  await using alice = await openPage();
  await using bob = await openPage();
  await openApprovals(alice.page, here, (await here.person('alice')).token);
  await openApprovals(bob.page, here, (await here.person('bob')).token);
  for (const { page } of [alice, bob]) {
    await page.goto(`${here.origin}/ui/#/approvals?id=${id}`);
    // Neither page reads what the other one did before it sends its own decision.
    await page.route('**/api/approvals/decide', async (route) => {
      await both.arrive();
      await route.continue();
    });
  }
  const both = meeting(2);
  await alice.page.getByRole('button', { name: 'Approve…' }).click();
  await bob.page.getByRole('button', { name: 'Deny…' }).click();
  await bob.page.getByRole('textbox', { name: 'Reason' }).fill('no');
  await Promise.all([
    alice.page.getByRole('button', { name: 'Approve once' }).click(),
    bob.page.getByRole('button', { name: 'Deny', exact: true }).click(),
  ]);
  const ended = await called;
  const isApproved = ended.error === undefined;
  const [late, words] = isApproved
    ? [bob.page, 'Nothing was changed: operator.alice has approved this call']
    : [alice.page, 'Nothing was changed: operator.bob has denied this call: no'];
  await late.getByText(words).waitFor();
  expect(here.runs()).toBe(isApproved ? 1 : 0);
});

/** Lets so many go on at the same time. */
function meeting(of: number): { arrive(): Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let there = 0;
  return {
    arrive: async () => {
      there++;
      if (there === of) resolve();
      await promise;
    },
  };
}

test('A call is approved for a time, the next one passes, and a revoked one asks again.', async () => {
  await using here = await startAskingDashboard();
  const bea = await here.stack.executor('bea', 'builder');
  const called = bea.execute({ name: count, arguments: { n: 1 } });
  await here.waiting(1);
  await using opened = await openPage();
  const { page } = opened;
  await openApprovals(page, here);
  await page.getByRole('button', { name: 'counter:count' }).click();
  await page.getByRole('button', { name: 'Approve…' }).click();
  await page.getByRole('combobox').selectOption('15m');
  await page.getByText('nobody is asked').waitFor();
  await page.getByRole('button', { name: 'Approve for 15m' }).click();
  await called;
  expect(await bea.execute({ name: count, arguments: { n: 2 } })).toHaveProperty('result.success', true);
  await page.getByRole('button', { name: 'Standing' }).click();
  const standing = page.getByRole('listitem').filter({ hasText: 'without asking' });
  await standing.getByRole('button', { name: 'Revoke…' }).click();
  await standing.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('No standing approval is in force').waitFor();
  const abort = new AbortController();
  const third = bea.execute({ name: count, arguments: { n: 3 } }, { signal: abort.signal });
  await here.waiting(1);
  abort.abort();
  await third;
  expect(here.runs()).toBe(2);
});

test('An observer and an approver of another role act neither on the page nor by hand-made requests.', async () => {
  await using here = await startAskingDashboard();
  const bea = await here.stack.executor('bea', 'builder');
  const abort = new AbortController();
  const called = bea.execute({ name: count, arguments: { secret: 'plan' } }, { signal: abort.signal });
  const [{ id } = { id: '' }] = await here.waiting(1);
  const attacks = [
    ['approvals/decide', { id, verdict: 'approve' }],
    ['approvals/decide', { id, verdict: 'deny', reason: 'x' }],
    ['holds/place', { on: 'all', reason: 'x' }],
    ['messages/send', { to: 'bea', text: 'x' }],
    ['servers/stop', { server: 'counter' }],
  ] as const;
  const observer = (await here.person('olga', 'observer')).token;
  const approver = await here.approver('lead', ['tester']);
  for (const token of [observer, approver]) {
    await using opened = await openPage();
    const { page } = opened;
    await openApprovals(page, here, token);
    await page.goto(`${here.origin}/ui/#/approvals?id=${id}`);
    await page.getByRole('complementary', { name: 'Details' }).waitFor();
    await expect.poll(() => page.getByText('Reading …').count()).toBe(0);
    expect(await page.getByRole('button', { name: /Approve|Deny|Hold|Release|Revoke/ }).count()).toBe(0);
    expect(await page.locator('body').textContent()).not.toContain('plan');
    for (const [path, params] of attacks) expect(await sendByHand(page, path, params), path).toBe(403);
  }
  expect(here.runs()).toBe(0);
  expect((await here.waiting(1))[0]).toMatchObject({ id, state: 'pending' });
  abort.abort();
  await called;
});

test('A token that only approves sees the calls of its roles and nothing else, decides on them, and its page hears of new ones.', async () => {
  await using here = await startAskingDashboard();
  await using opened = await openPage();
  const { page, problems } = opened;
  await openApprovals(page, here, await here.approver('lead', ['builder']));
  await page.getByText('only decides on tool calls').waitFor();
  expect(await page.getByRole('navigation', { name: 'Views' }).textContent()).toBe('Approvals');
  const bea = await here.stack.executor('bea', 'builder');
  const called = bea.execute({ name: count, arguments: { n: 1 } });
  await page.getByRole('button', { name: 'counter:count' }).click();
  await page.getByRole('button', { name: 'Approve…' }).click();
  await page.getByRole('button', { name: 'Approve once' }).click();
  expect(await called).toHaveProperty('result.success', true);
  for (const view of ['', 'system', 'agents', 'timeline']) {
    await page.goto(`${here.origin}/ui/#/${view}`);
    await page.getByRole('heading', { name: 'Approvals' }).waitFor();
  }
  const operator = await here.stack.client('operator', 'operator');
  await operator.admin('hold', { on: 'agent', name: 'bea', reason: 'incident 12' });
  const banner = page.getByRole('complementary', { name: 'Holds' });
  await banner.getByText('incident 12').waitFor();
  expect(await page.getByRole('button', { name: /Hold|Release/ }).count()).toBe(0);
  expect(problems).toEqual([]);
});

test('Hostile texts in names and values of arguments and in reasons are shown as texts, and can’t pretend to be other values.', async () => {
  await using here = await startAskingDashboard();
  const eve = await here.stack.executor('eve', 'builder');
  const forged = 'harmless",\n  "path": "/tmp/safe"\n}';
  const called = eve.execute(
    {
      name: count,
      arguments: {
        [hostileText]: hostileText,
        note: forged,
        deep: nested(30),
        list: ['a', forged],
        token: `sbx_eve~${'a'.repeat(43)}`,
      },
    },
    { meta: { 'example.com/note': hostileText } },
  );
  const [{ id } = { id: '' }] = await here.waiting(1);
  await using opened = await openPage();
  const { page, problems } = opened;
  await openApprovals(page, here);
  await page.goto(`${here.origin}/ui/#/approvals?id=${id}`);
  const shown = page.getByRole('region', { name: 'Arguments' });
  await shown.waitFor();
  expect(await shown.textContent()).toContain(shownHostileText);
  expect(await page.getByRole('region', { name: '_meta' }).textContent()).toContain(shownHostileText);
  expect(await shown.locator('.key').allTextContents()).not.toContain('"path"');
  expect(await shown.locator('.lines').allTextContents()).toEqual([forged, forged]);
  await page.getByRole('button', { name: 'Approve…' }).click();
  await page.getByText('One value is hidden from you').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Deny…' }).click();
  await page.getByRole('textbox', { name: 'Reason' }).fill(`<script>window.hacked=1</script>${hostileText}`);
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  expect((await called).error?.message).toContain('<script>');
  await page.goto(`${here.origin}/ui/#/approvals?part=ended&id=${id}`);
  await expect.poll(() => page.locator('.end').textContent()).toContain('has denied this call');
  await expect.poll(() => page.locator('body').textContent()).toContain(shownHostileText);
  expect(await page.evaluate('window.hacked')).toBeUndefined();
  expect(problems).toEqual([]);
});

function nested(depth: number): unknown {
  return depth === 0 ? 'bottom' : [nested(depth - 1)];
}

test('A hold on the page stops an agent’s mail until the release on the page, and it comes in order; the banner is on every view.', async () => {
  await using here = await startAskingDashboard();
  const ann = await here.stack.client('ann');
  const walt = await here.stack.clientAt('walt');
  await using inbox = await walt.subscribe();
  await using opened = await openPage();
  const { page, problems } = opened;
  await openApprovals(page, here);
  await page.getByRole('button', { name: 'Hold…' }).focus();
  // A key that is held down opens the form and places nothing.
  for (let repeated = 0; repeated < 5; repeated++) await page.keyboard.down('Enter');
  await page.keyboard.up('Enter');
  const form = page.getByRole('dialog', { name: 'Hold' });
  await form.getByLabel('an agent').check();
  await form.getByLabel('Name of the agent').fill('wald');
  await form.getByLabel('Reason').fill('it deletes files');
  await form.getByRole('button', { name: 'Hold', exact: true }).click();
  await form.getByText("no agent 'wald' has a token").waitFor();
  await form.getByLabel('Name of the agent').fill('walt');
  await form.getByRole('button', { name: 'Hold', exact: true }).click();
  const banner = page.getByRole('complementary', { name: 'Holds' });
  await banner.getByText('it deletes files').waitFor();
  expect(await form.count()).toBe(0);
  let pushed = 0;
  const messages: string[] = [];
  const taking = (async () => {
    for (let taken = 0; taken < 3; taken++) {
      const { value } = await inbox.messages.next();
      pushed++;
      messages.push(value!.id);
    }
  })();
  for (const id of ['one', 'two', 'three']) await ann.deliver({ to: 'walt', kind: 'task', id });
  await expect(walt.deliver({ to: 'ann', kind: 'note' })).rejects.toMatchObject({ code: 'held' });
  expect(pushed).toBe(0);
  for (const view of ['', 'agents?agent=walt', 'timeline', 'dead', 'calls', 'servers', 'system']) {
    await page.goto(`${here.origin}/ui/#/${view}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await banner.textContent(), view).toContain("Held: agent 'walt' by operator");
    expect(await page.getByRole('button', { name: 'Hold…' }).first().isVisible(), view).toBe(true);
  }
  await page.goto(`${here.origin}/ui/#/agents?agent=walt`);
  await page.getByRole('row').filter({ hasText: 'walt' }).getByText('held').waitFor();
  expect(pushed).toBe(0);
  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByRole('button', { name: 'Release…' }).click();
  await details.getByRole('button', { name: 'Release' }).click();
  await taking;
  expect(messages).toEqual(['one', 'two', 'three']);
  await banner.waitFor({ state: 'detached' });
  expect(problems).toEqual([]);
});

test('The approvals, the form of a hold and the banner have no serious violation of accessibility, dark and light, and fit 360 pixels.', async () => {
  await using here = await startAskingDashboard();
  const eve = await here.stack.executor('eve', 'builder');
  const abort = new AbortController();
  const called = eve.execute(
    { name: count, arguments: { text: `${hostileText}\n${'word'.repeat(200)}` } },
    { signal: abort.signal },
  );
  const [{ id } = { id: '' }] = await here.waiting(1);
  const operator = await here.stack.client('operator', 'operator');
  await operator.admin('hold', { on: 'tool', name: 'mcp_counter__*', reason: `x${'y'.repeat(300)}` });
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 360]) {
      await using opened = await openPage({ colorScheme, viewport: { width, height: 780 } });
      const { page } = opened;
      await openApprovals(page, here);
      const check = async (what: string) => {
        expect(await violations(page), `${colorScheme} ${width} ${what}`).toEqual([]);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(overflow, `${what} at ${width}`).toBeLessThanOrEqual(0);
      };
      for (const view of ['approvals', '', 'approvals?part=ended', 'approvals?part=standing']) {
        await page.goto(`${here.origin}/ui/#/${view}`);
        await expect.poll(() => page.getByText('Reading …').count()).toBe(0);
        await check(view);
      }
      await page.goto(`${here.origin}/ui/#/approvals?id=${id}`);
      await page.getByRole('button', { name: 'Approve…' }).click();
      await check('approving');
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('button', { name: 'Deny…' }).click();
      await check('denying');
      await page.getByRole('button', { name: 'Hold…' }).first().click();
      await page.getByLabel('an agent').check();
      await check('holding');
    }
  }
  abort.abort();
  await called;
});

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return await page.evaluate(async () => {
    interface Violation {
      id: string;
      impact: string;
      nodes: { html: string }[];
    }
    const { axe: loaded } = window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
    const { violations: found } = await loaded.run();
    return found
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`);
  });
}
