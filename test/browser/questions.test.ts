import { readFile } from 'node:fs/promises';
import { Client } from '@modelcontextprotocol/client';
import { connectBroker, requestAddress } from '@signalbox/client';
import { makeSignInLink, readAudit, readHistory } from '@signalbox/client/operator';
import { tempDir } from '@signalbox/testing';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { browserTests } from '../support/browser/browser-tests.ts';
import { startDaemon } from '../support/cli/command-line.ts';
import { workerTransport } from '../support/cli/worker-mcp.ts';
import { startWorkspace } from '../support/cli/workspace.ts';
import { startDashboardStack } from '../support/dashboard/dashboard-stack.ts';

const { test, openPage } = browserTests();

/** Opens the form for the answer to an agent from the list of what needs attention, or from a conversation. */
async function openForm(page: Page, agent: string) {
  await page.getByRole('button', { name: `Answer ${agent}` }).click();
  const form = page.getByRole('dialog', { name: 'Answer' });
  return { form, field: form.getByRole('textbox') };
}

test('signalbox up: a person reads what an agent asks with its MCP tool, and answers by keyboard; a half-typed answer stays as views change.', async () => {
  const roles = { researcher: { tools: [] } };
  await using workspace = await startWorkspace(() =>
    JSON.stringify({ broker: { listen: '127.0.0.1:0', data: './state' }, roles }),
  );
  const { env } = await workspace.agent('rosa', 'researcher');
  const rosa = new Client({ name: 'test', version: '1' });
  await rosa.connect(workerTransport({ ...env, SIGNALBOX_BROKER_URL: workspace.ready.broker.url }));
  await using _rosa = { [Symbol.asyncDispose]: () => rosa.close() };
  const asked = rosa.callTool({
    name: 'signalbox_ask_agent',
    arguments: { to: 'operator', text: 'May I delete the branch `old`? <img src=x onerror=alert(1)>' },
  });
  await using opened = await openPage();
  const { page, problems } = opened;
  const printed = await workspace.run(['dashboard', '--config', 'signalbox.yaml']);
  await page.goto(/http:\S+/.exec(printed.stdout)![0]);
  const item = page.getByRole('listitem').filter({ hasText: 'asks you something, and waits.' });
  await item.waitFor();
  await item.getByText('May I delete the branch `old`? <img').waitFor();
  await item.getByText(/^\d+:\d\d left$/).waitFor();
  const { form, field } = await openForm(page, 'rosa');
  await form.getByRole('heading', { name: 'Question from rosa' }).waitFor();
  await form.getByText(/^\d+:\d\d left$/).waitFor();
  await form.getByText('May I delete the branch').waitFor();
  expect(await form.locator('img').count()).toBe(0);
  await page.keyboard.type('yes, but ');
  // The list below changes while somebody types.
  const { env: walt } = await workspace.agent('walt', 'researcher');
  await workspace.run(['send', 'operator', 'by the way'], walt);
  await page.getByText('1 message for a person').waitFor();
  await page.keyboard.type('keep the tag');
  await page.keyboard.press('Escape');
  await form.waitFor({ state: 'detached' });
  await openForm(page, 'rosa');
  expect(await field.inputValue()).toBe('yes, but keep the tag');
  await form.getByText('May I delete the branch').waitFor();
  await page.keyboard.press('Control+Enter');
  await page.getByText('The answer for rosa is on disk').waitFor();
  expect(await asked).toMatchObject({
    structuredContent: { status: 'answered', from: 'operator', body: 'yes, but keep the tag' },
  });
  await item.waitFor({ state: 'detached' });
  expect(problems).toEqual([]);
});

test('Of two operators who answer in the conversation at the same moment one does, and the other reads who; an observer has no button.', async () => {
  const keepBodies = { kinds: ['ask', 'reply'], ageMs: 86_400_000, bytes: 10_000_000 };
  await using here = await startDashboardStack({ counter: false, broker: { keepBodies } });
  const rosa = await here.stack.client('rosa');
  const names = ['alice', 'bob'];
  await using opened = new AsyncDisposableStack();
  const pages: Page[] = [];
  for (const name of [...names, 'olga']) {
    const { token } = await here.person(name, name === 'olga' ? 'observer' : 'operator');
    const { page } = opened.use(await openPage());
    await page.goto(await here.link(token));
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    pages.push(page);
  }
  const asked = rosa.request('operator.bob', 'ask', 'left or right?', { timeoutMs: 60_000, thread: 'way' });
  await pages[0]!.getByText('asks operator.bob something, and waits.').waitFor();
  await pages[1]!.getByText('asks you something, and waits.').waitFor();
  for (const page of pages) {
    await page.goto(`${here.origin}/ui/#/conversations?thread=way`);
    await page.getByRole('article').filter({ hasText: 'to operator.bob, ask' }).waitFor();
  }
  expect(await pages[2]!.getByRole('button', { name: /Answer/ }).count()).toBe(0);
  const forms = await Promise.all(pages.slice(0, 2).map((page) => openForm(page, 'rosa')));
  for (const [n, { form, field }] of forms.entries()) {
    await form.getByText('left or right?').waitFor();
    await field.fill(`ask ${names[n]}`);
  }
  await Promise.all(forms.map(({ form }) => form.getByRole('button', { name: 'Send' }).click()));
  const outcome = await asked;
  if (outcome.status !== 'completed') throw new Error(outcome.status);
  const winner = outcome.reply.from.agent;
  const at = names.indexOf(winner.slice('operator.'.length));
  expect(outcome.reply.json).toBe(`ask ${names[at]}`);
  await pages[at]!.getByText('The answer for rosa is on disk').waitFor();
  const loser = forms[1 - at]!;
  await loser.form.getByText(`Not sent: '${winner}' has answered this already`).waitFor();
  expect(await loser.field.inputValue()).toBe(`ask ${names[1 - at]}`);
  await loser.form.getByRole('button', { name: 'Cancel' }).click();
  await pages[1 - at]!.getByRole('article')
    .filter({ hasText: `ask ${names[at]}` })
    .waitFor();
  await using operator = await here.stack.client('operator', 'operator');
  const { messages } = await readHistory(operator, { since: 0, agent: 'rosa', limit: 100 });
  expect(messages.filter(({ kind }) => kind === 'reply')).toMatchObject([{ from_agent: winner }]);
  const audited = async (kind: 'change' | 'read', wanted: string) =>
    (await readAudit(operator, { since: 0, kinds: [kind], limit: 1000 })).entries.filter(
      ({ code }) => code === wanted,
    );
  expect(await audited('change', 'request_answered')).toMatchObject([
    { agent: winner, name: 'operator.bob' },
  ]);
  // The list of what needs attention reads no body; only Alice has opened what somebody else was asked.
  expect(await audited('read', 'inbox_read')).toMatchObject([
    { agent: 'operator.alice', name: 'operator.bob', detail: '1 messages' },
  ]);

  // An asker that gives up is told while somebody types.
  const page = pages[1]!;
  await page.goto(`${here.origin}/ui/#/`);
  const giving = new AbortController();
  const given = rosa.request('operator.bob', 'ask', 'and now?', {
    timeoutMs: 60_000,
    signal: giving.signal,
  });
  const { form, field } = await openForm(page, 'rosa');
  await form.getByText('and now?').waitFor();
  await field.fill('on');
  giving.abort();
  await given.catch(() => undefined);
  await form.getByText('This does not wait any more').waitFor();
  expect(await field.inputValue()).toBe('on');
  await form.getByRole('button', { name: 'Send' }).click();
  await form.getByText("Not sent: 'rosa' has withdrawn this; nothing was sent").waitFor();
});

test.each(['broker.ack.before_commit', 'broker.ack.after_commit'])(
  'An answer whose broker dies by kill -9 at %s is sent again from the page, and its asker gets it once.',
  async (fault) => {
    await using directory = await tempDir();
    const start = (url: string, env: Record<string, string>) =>
      startDaemon(['broker', '--data', `${directory.path}/data`, '--listen', new URL(url).host], {
        cwd: directory.path,
        env,
      });
    const doomed = await start('ws://127.0.0.1:0', { SIGNALBOX_FAULT: fault });
    const { url, operator_token_file: file } = doomed.ready as { url: string; operator_token_file: string };
    const token = (await readFile(file, 'utf8')).trim();
    await using operator = await connectBroker({ url, token, agent: requestAddress('operator') });
    await using opened = await openPage();
    const { page } = opened;
    await page.goto((await makeSignInLink(operator)).links[0]!);
    await page.getByText('live', { exact: true }).waitFor();
    const asked = operator.request('operator', 'ask', 'go on?', { timeoutMs: 120_000 });
    const { form, field } = await openForm(page, 'operator');
    await form.getByText('go on?').waitFor();
    await field.fill('go on');
    await page.keyboard.press('Control+Enter');
    await form.getByText('Not sent: The broker does not answer.').waitFor();
    expect(await doomed.ended).toBe(null);
    await using _restarted = await start(url, {});
    await page.getByText('live', { exact: true }).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByText('The answer for operator is on disk').waitFor();
    expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'go on' } });
    const { messages } = await readHistory(operator, { since: 0, limit: 100 });
    expect(messages.filter(({ kind }) => kind === 'reply')).toHaveLength(1);
    expect(await operator.peek({ address: 'operator' })).toEqual([]);
  },
);
