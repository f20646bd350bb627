import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { revokeToken } from '@signalbox/client/operator';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { browserTests } from '../support/browser/browser-tests.ts';
import { everythingText, startWorkspace } from '../support/cli/workspace.ts';
import { type DashboardStack, startDashboardStack } from '../support/dashboard/dashboard-stack.ts';
import { makeDeadLetter, sendHostileTexts } from '../support/dashboard/hostile.ts';

const { test, openPage } = browserTests();

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

async function signIn(page: Page, here: DashboardStack, token?: string): Promise<void> {
  await page.goto(await here.link(token));
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
}

async function show(page: Page, here: DashboardStack, view: string): Promise<void> {
  await page.goto(`${here.origin}/ui/#/${view}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.getByText('Reading …').count()).toBe(0);
}

test('A dead letter is retried from the list of what needs attention, and is gone from it.', async () => {
  await using here = await startDashboardStack({ counter: false });
  await makeDeadLetter(here.stack, 'the document is locked', 'chapter-1');
  await using opened = await openPage();
  const { page, problems } = opened;
  await signIn(page, here);
  const item = page.getByRole('listitem').filter({ hasText: 'the document is locked' });
  await item.getByRole('button', { name: 'Retry' }).click();
  await page.getByText('1 message stored again for walt').waitFor();
  await item.waitFor({ state: 'detached' });
  const walt = await here.stack.client('walt');
  expect(await walt.peek({ address: 'walt' })).toMatchObject([{ id: 'chapter-1', body: '{"chapter":1}' }]);
  expect(problems).toEqual([]);
});

test('Dropping asks first, by keyboard too, and a reason selects what is dropped.', async () => {
  await using here = await startDashboardStack({ counter: false });
  await makeDeadLetter(here.stack, 'locked', 'a');
  await makeDeadLetter(here.stack, 'other', 'b');
  await using opened = await openPage();
  const { page } = opened;
  await signIn(page, here);
  await show(page, here, 'dead');
  await page.getByRole('link', { name: /locked/ }).click();
  await page.getByRole('button', { name: 'Drop…' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Forget 1 message for good?').waitFor();
  await page.keyboard.press('Escape');
  expect(await page.getByText('Forget 1 message for good?').count()).toBe(0);
  await page.getByRole('button', { name: 'Drop…' }).click();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText('1 message dropped').waitFor();
  await page.getByRole('link', { name: 'Show all' }).click();
  const rows = () => page.locator('tbody tr').allTextContents();
  await expect.poll(rows).toEqual([expect.stringContaining('other')]);
});

test('A timeline is searched by tool and by outcome, stands in the address, and shows message, call and reply.', async () => {
  await using here = await startDashboardStack();
  const bea = await here.stack.executor('bea', 'builder');
  await bea.execute({ name: 'mcp_counter__echo', arguments: { text: 'x' } });
  await makeDeadLetter(here.stack, 'locked', 'chapter-1');
  await using opened = await openPage();
  const { page } = opened;
  await signIn(page, here);
  await show(page, here, 'timeline');
  await expect.poll(() => page.locator('.line').count()).toBeGreaterThan(1);
  await page.getByRole('searchbox').fill('tool:counter__ec');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('.line').count()).toBe(1);
  expect(page.url()).toContain('tool=counter__ec');
  await page.locator('.line').click();
  const tree = await page.locator('.tree').textContent();
  for (const part of ['mcp_request', 'tool call', 'mcp_reply', 'counter:echo']) expect(tree).toContain(part);
  await page.reload();
  await expect.poll(() => page.locator('.line').count()).toBe(1);
  await show(page, here, 'timeline?outcome=locked');
  await expect.poll(() => page.locator('.line').textContent()).toContain('dead');
});

test('The page says that the broker is away, goes on by itself when it is back, and is still signed in.', async () => {
  await using here = await startDashboardStack({ counter: false });
  await using opened = await openPage();
  const { page } = opened;
  await signIn(page, here);
  await page.getByText('live', { exact: true }).waitFor();
  await here.stack.broker.broker.stop();
  await page.getByText('broker away').waitFor();
  await here.restart();
  await page.getByText('live', { exact: true }).waitFor();
  await here.stack.client('later');
  await show(page, here, 'agents');
  await page.getByRole('row').filter({ hasText: 'later' }).waitFor();
});

test('signalbox up: a kill -9 of the broker leaves no error on the page, which shows a refused call and its agent afterwards.', async () => {
  await using workspace = await startWorkspace(everythingText);
  const { env } = await workspace.agent('ann', 'sandbox');
  await using opened = await openPage();
  const { page, problems } = opened;
  const printed = await workspace.run(['dashboard', '--config', 'signalbox.yaml']);
  const link = /http:\S+/.exec(printed.stdout)![0];
  await page.goto(link);
  await page.getByText('live', { exact: true }).waitFor();
  process.kill(workspace.ready.broker.pid, 'SIGKILL');
  await page.getByText('broker away').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  const call = ['tools', 'call', 'everything:echo', '{"message":"x"}'];
  expect((await workspace.run(call, env)).stderr).toContain('is not allowed');
  await page.goto(`${new URL(link).origin}/ui/#/system?part=audit&kind=refusal`);
  const row = page.getByRole('row').filter({ hasText: 'everything:echo' });
  await expect.poll(() => row.textContent()).toContain('ann');
  expect(problems).toEqual([]);
});

test('Operators see the turns of a served agent that run, and observers only that it works.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const { token } = await here.person('olga', 'observer');
  const rosa = await here.stack.client('rosa');
  const calls = [{ title: 'make all', status: 'in_progress' }];
  const turn = { id: 'm1', from: 'walt', kind: 'ask', thread: 'release', since: Date.now(), calls };
  rosa.announce({ worker: 'serve', command: 'gemini', turns: 1, private: { running: [turn] } });
  const hugo = await here.stack.client('hugo');
  const { calls: _, ...silent } = turn;
  hugo.announce({ worker: 'serve', command: 'sh', turns: 1, private: { running: [silent] } });
  await using opened = await openPage();
  const { page, problems } = opened;
  await signIn(page, here);
  await show(page, here, 'agents?agent=rosa');
  await page
    .getByRole('row')
    .filter({ hasText: /rosa.*working.*make all/ })
    .waitFor();
  await page
    .getByRole('row')
    .filter({ hasText: /hugo.*working.*ask of walt/ })
    .waitFor();
  await page.getByText('make all: in_progress').waitFor();
  await page.getByRole('link', { name: 'ask of walt' }).click();
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  expect(problems).toEqual([]);
  await using other = await openPage();
  await signIn(other.page, here, token);
  await show(other.page, here, 'agents?agent=rosa');
  await other.page
    .getByRole('row')
    .filter({ hasText: /rosa.*working/ })
    .waitFor();
  expect(await other.page.getByText('make all').count()).toBe(0);
});

test('An observer sees the views, and neither bodies nor a button that changes something.', async () => {
  await using here = await startDashboardStack({ counter: false });
  await makeDeadLetter(here.stack, 'locked', 'chapter-1');
  const { token } = await here.person('olga', 'observer');
  await using opened = await openPage();
  const { page } = opened;
  await signIn(page, here, token);
  await page.getByText('only looks').waitFor();
  await page.getByText('1 message given up: locked').waitFor();
  await show(page, here, 'dead');
  await page.getByRole('row').filter({ hasText: 'locked' }).click();
  await page.getByText('Its body is shown to operators only.').waitFor();
  await show(page, here, 'agents?agent=walt');
  expect(await page.getByRole('button', { name: /Retry|Drop|Revoke|Send|Reload/ }).count()).toBe(0);
  // The API also refuses requests that the page does not make.
  const status = await page.evaluate(async () => {
    const key = localStorage.getItem('signalbox-key')!;
    const headers = {
      'x-signalbox-key': key,
      'content-type': 'application/json',
      'idempotency-key': 'k-12345678',
    };
    const body = JSON.stringify({ seqs: [1] });
    return (await fetch('/api/dead-letters/drop', { method: 'POST', headers, body })).status;
  });
  expect(status).toBe(403);
});

test('A link that somebody else opened first signs nobody else in.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const link = await here.link();
  await using first = await openPage();
  await using second = await openPage();
  await first.page.goto(link);
  await first.page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await second.page.goto(link);
  await second.page.getByText('this link was used already').waitFor();
  expect(await second.page.evaluate(async () => (await fetch('/api/sign-in')).status)).toBe(401);
});

test('A revoked token ends the page at once, and says so.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const alice = await here.person('alice');
  await using opened = await openPage();
  const { page } = opened;
  await signIn(page, here, alice.token);
  await page.getByText('live', { exact: true }).waitFor();
  await revokeToken(await here.stack.client('operator', 'operator'), alice.id);
  await page.getByText('Your sign-in has ended.').waitFor();
  expect(await page.evaluate(() => localStorage.length)).toBe(0);
});

test('A page of another port of this machine can neither change anything with the cookie, nor read, nor frame the page.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const evil = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title>'),
  );
  await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
  await using _stop = { [Symbol.asyncDispose]: async () => void evil.close() };
  await using opened = await openPage();
  const { page } = opened;
  await signIn(page, here);
  const key = await page.evaluate(() => localStorage.getItem('signalbox-key'));
  const other = await page.context().newPage();
  await other.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
  expect(await other.evaluate(() => localStorage.length)).toBe(0);
  const outcomes = await other.evaluate(
    async ([origin, stolenKey]) => {
      const send = (init: RequestInit) =>
        fetch(`${origin}/api/messages/send`, {
          method: 'POST',
          credentials: 'include',
          mode: 'no-cors',
          ...init,
        }).then(
          () => 'sent',
          () => 'refused',
        );
      const body = '{"to":"operator","text":"hacked"}';
      const read = await fetch(`${origin}/api/sign-in`, { credentials: 'include' }).then(
        () => 'read',
        () => 'refused',
      );
      const custom = await fetch(`${origin}/api/sign-in`, {
        credentials: 'include',
        headers: { 'x-signalbox-key': stolenKey! },
      }).then(
        () => 'read',
        () => 'refused',
      );
      const frame = document.createElement('iframe');
      frame.src = `${origin}/ui/`;
      document.body.append(frame);
      await new Promise((resolve) => frame.addEventListener('load', resolve));
      let framed = 'refused';
      try {
        framed = frame.contentDocument === null ? 'refused' : 'empty';
      } catch {
        framed = 'refused';
      }
      return { simple: await send({ body }), read, custom, framed };
    },
    [here.origin, key] as const,
  );
  // The browser sends a simple request even if its page may not read the answer. The broker refuses it.
  expect(outcomes).toMatchObject({ read: 'refused', custom: 'refused' });
  for (const frame of other.frames()) expect(await frame.locator('h1').count()).toBe(0);
  const operator = await here.stack.client('operator', 'operator');
  expect(await operator.peek({ address: 'operator' })).toEqual([]);
});

test('No view has a serious violation of accessibility, and each works on a screen of 360 pixels, dark and light.', async () => {
  const keepBodies = { kinds: ['task', 'note'], ageMs: 86_400_000, bytes: 1_000_000 };
  await using here = await startDashboardStack({ broker: { keepBodies } });
  await sendHostileTexts(here.stack);
  const bea = await here.stack.executor('bea', 'builder');
  await bea.execute({ name: 'mcp_counter__echo', arguments: { text: 'x' } });
  const views = [
    '',
    'agents?agent=mallory',
    'conversations',
    `conversations?thread=${encodeURIComponent('<i>&"thread')}`,
    'timeline',
    'dead',
    'calls',
    'tools?role=builder&tool=counter:echo',
    'servers?server=counter',
    'system',
    'system?part=audit',
  ];
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 360]) {
      await using opened = await openPage({ colorScheme, viewport: { width, height: 780 } });
      const { page, problems } = opened;
      await signIn(page, here);
      for (const view of views) {
        await show(page, here, view);
        await page.evaluate(axe);
        const found = await page.evaluate(async () => {
          const { violations } = await (
            window as unknown as {
              axe: {
                run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
              };
            }
          ).axe.run();
          return violations
            .filter(({ impact }) => impact === 'serious' || impact === 'critical')
            .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`);
        });
        expect(found, `${colorScheme} ${width} ${view}`).toEqual([]);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(overflow, `${view} at ${width}`).toBeLessThanOrEqual(0);
      }
      expect(problems).toEqual([]);
    }
  }
});

test('Thousands of dead letters are listed with few rows in the page, and keys go through them.', async () => {
  await using here = await startDashboardStack({ counter: false });
  // Two thousand dead letters of one sender, or for one recipient, are kept.
  for (const name of ['walt', 'bea', 'cid']) {
    const sender = await here.stack.client(`sender-of-${name}`);
    const receiver = await here.stack.clientAt(name);
    await using inbox = await receiver.subscribe();
    const ids = Array.from({ length: 800 }, (_, index) => `${name}-${index}`);
    await Promise.all(ids.map((id) => sender.deliver({ to: name, kind: 'task', id })));
    for (let taken = 0; taken < ids.length; taken++) {
      const { value } = await inbox.messages.next();
      await receiver.nack([value!.seq!], { dead: true, reason: 'no use' });
    }
  }
  await using opened = await openPage();
  const { page } = opened;
  await signIn(page, here);
  await show(page, here, 'dead');
  await page.getByText('2,400 messages given up').waitFor();
  expect(await page.locator('tbody tr').count()).toBeLessThan(60);
  await page.locator('tbody tr[tabindex="0"]').focus();
  await page.keyboard.press('End');
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-rowindex')))
    .toBe('2401');
  await page.keyboard.press('Enter');
  await page.getByRole('complementary', { name: 'Details' }).waitFor();
  await page.keyboard.press('Escape');
  expect(await page.getByRole('complementary').count()).toBe(0);
});
