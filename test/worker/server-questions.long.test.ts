import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import type { ServerStatus, StdioServerConfig } from '@signalbox/mcp-host';
import type { ToolProvider } from '@signalbox/mcp-host/tool-calls';
import type { Tool } from '@signalbox/protocol';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { serveMcpFace } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { askingServer, npmServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace } from '../support/worker/mcp-client.ts';

const elicitation = { elicitation: { form: {} } };
const able = { clientCapabilities: elicitation };
const accepted = { action: 'accept', content: { name: 'Ada' } };
const tools = [toolNamed('pay') as Tool];
const inputResponses = { question_1: accepted };

test('A server of npm asks clients of both eras, each for what it can be asked, and lists its tools for these clients to all.', async () => {
  const everything: StdioServerConfig = {
    ...npmServer('everything', 'stdio'),
    share: 'worker',
    prefix: false,
    questions: ['elicitation', 'sampling', 'roots'],
  };
  await using stack = await startToolStack({ counter: false, servers: { everything } });
  const executor = await stack.executor('rosa');
  const asked: unknown[] = [];
  await using legacy = await connectFace(executor, {
    capabilities: { ...elicitation, roots: {} },
    prepare(client) {
      client.setRequestHandler('elicitation/create', ({ params }) => {
        asked.push(params.message);
        return { action: 'accept', content: { name: 'Ada' } };
      });
      client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///srv/ours', name: 'ours' }] }));
    },
  });
  const elicit = 'trigger-elicitation-request';
  expect(await legacy.call(elicit)).toMatchObject({
    content: [{}, { text: 'User inputs:\n- Name: Ada' }, {}],
  });
  expect(asked).toEqual([expect.stringMatching(/^The MCP server 'everything' asks: Please provide/)]);
  expect(await legacy.call('get-roots-list')).toMatchObject({
    content: [{ text: expect.stringContaining('file:///srv/ours') }],
  });

  await using modern = await connectFace(executor, { era: 'modern', capabilities: elicitation });
  const first = await modern.call(elicit);
  expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { question_1: {} } });
  const { requestState } = first;
  const params = { requestState, inputResponses: { question_1: { action: 'decline' } } };
  expect(await modern.call(elicit, {}, { params })).toMatchObject({
    content: [{ text: expect.stringContaining('declined') }, {}],
  });
  // The instance that runs was not declared sampling; the tool for it stays listed.
  expect((await legacy.list()).map(({ name }) => name)).toContain('trigger-sampling-request');
  // The instance that only lists the tools has no caller: its questions do not count as refused.
  const [{ questions }] = stack.host.servers() as [ServerStatus];
  // The other one asks for roots by a timer, sometimes when its call has ended.
  const late = 'roots/list: the call has ended, so nobody answers any more';
  expect([undefined, late]).toContain(questions.lastRefusal);
});

test('A client that never answers ends no call: its server is told so in time, and a server that ends its calls with questions is not waited for either.', async () => {
  const asking = { ...askingServer(), prefix: false as const };
  const question = {
    method: 'elicitation/create',
    params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
  };
  const result = { resultType: 'input_required', inputRequests: { who: question } } as const;
  const provider: ToolProvider = {
    name: 'bank',
    tools: () => tools,
    problems: () => [],
    secrets: () => [],
    call: async () => ({ result }),
    onChanged: () => () => {},
  };
  await using stack = await startToolStack({ counter: false, servers: { asking }, providers: [provider] });
  const never = new Promise<never>(() => {});
  await using silent = await connectFace(await stack.executor('rosa'), {
    answerMs: 20,
    capabilities: elicitation,
    prepare: (client) => client.setRequestHandler('elicitation/create', () => never),
  });
  const why = 'the client has not answered the question within 0.02 seconds';
  expect(await silent.call('lend')).toMatchObject({ content: [{ text: expect.stringContaining(why) }] });
  expect(await silent.call('pay')).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining(`asks for input that the client did not give: ${why}`) }],
  });
});

test('A client of SDK 1 learns that its first question was given up.', async () => {
  const asking = { ...askingServer(), prefix: false as const };
  await using stack = await startToolStack({ counter: false, servers: { asking } });
  const [transport, theirs] = InMemoryTransport.createLinkedPair();
  await using _face = serveMcpFace(await stack.executor('rosa'), { version: '1', transport, answerMs: 20 });
  const client = new Client({ name: 'agent', version: '1' }, { capabilities: elicitation });
  const signals: AbortSignal[] = [];
  client.setRequestHandler(ElicitRequestSchema, (_question, { signal }) => {
    signals.push(signal);
    return new Promise<never>(() => {});
  });
  await client.connect(theirs as Parameters<Client['connect']>[0]);
  await client.callTool({ name: 'lend', arguments: {} });
  await client.ping();
  expect(signals).toMatchObject([{ aborted: true }]);
});

test('A call that asks goes on although the configuration of its server is replaced meanwhile.', async () => {
  const asking = { ...askingServer(), prefix: false };
  await using stack = await startToolStack({ counter: false, servers: { asking } });
  const rosa = await stack.executor('rosa');
  const lend = { name: 'lend' };
  const requestState = String((await rosa.executeRound(lend, able)).result?.requestState);
  await stack.host.apply({ asking: { ...asking, maxRestarts: 3 }, other: askingServer() });
  const round = { ...able, inputResponses, requestState };
  // A tool of the same name on another server is another tool.
  expect(await rosa.executeRound({ name: 'mcp_other__lend' }, round)).toMatchObject({
    error: { code: 'outcome_unknown' },
  });
  expect(await rosa.executeRound(lend, round)).toMatchObject({
    result: { content: [{ text: expect.stringContaining('Ada') }] },
  });
});

test('A call that asks ends as it began, although its definition is withheld by then.', async () => {
  await using directory = await tempDir();
  await using journal = await openSqliteJournal({ file: `${directory.path}/journal.db` });
  const asking = { ...askingServer(), prefix: false, definitions: 'pin' as const };
  await using stack = await startToolStack({ journal, counter: false, servers: { asking } });
  const [rosa, walt] = [await stack.executor('rosa'), await stack.executor('walt')];
  const lend = { name: 'lend' };
  const requestState = String((await rosa.executeRound(lend, able)).result?.requestState);
  const changed = new Promise((resolve) => stack.host.onInventoryChanged(resolve));
  await walt.execute({ name: 'change' });
  await changed;
  const withheld = { error: { code: 'definition_changed', may_have_run: false } };
  expect(await walt.execute(lend)).toMatchObject(withheld);
  const round = { ...able, inputResponses, requestState };
  const other = { name: 'lend', arguments: { id: 2 } };
  expect(await rosa.executeRound(other, round)).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(await rosa.executeRound(lend, round)).toMatchObject({
    result: { content: [{ text: expect.stringContaining('Ada') }] },
  });
  expect(await rosa.executeRound(lend, round)).toMatchObject(withheld);
});

test('Only the first round of a call waits for approval, and a hold that cancels ends a call whose caller is asked.', async () => {
  const servers = { asking: { ...askingServer(), prefix: false } };
  const paid: string[] = [];
  const provider: ToolProvider = {
    name: 'bank',
    tools: () => tools,
    problems: () => [],
    secrets: () => [],
    call: async (tool) => {
      paid.push(tool);
      return { result: { content: [] } };
    },
    onChanged: () => () => {},
  };
  await using stack = await startAskingStack(
    { roles: { worker: ['lend', 'look', 'pay'] } },
    { counter: false, servers, providers: [provider] },
  );
  const rosa = await stack.executor('rosa');
  const lend = { name: 'lend' };
  const approved = async () => {
    const called = rosa.executeRound(lend, able);
    const [approval] = await stack.waits();
    await stack.decide(approval!.id, { verdict: 'approve' });
    return { ...able, inputResponses, requestState: String((await called).result?.requestState) };
  };
  const first = await approved();
  // The state of one call is no approval of another one.
  const look = rosa.executeRound({ name: 'look' }, first);
  expect(await look).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(await rosa.executeRound({ name: 'pay' }, first)).toMatchObject({
    error: { code: 'outcome_unknown' },
  });
  expect(paid).toEqual([]);
  expect(await rosa.executeRound(lend, first)).toMatchObject({
    result: { content: [{ text: expect.stringContaining('Ada') }] },
  });
  expect(await stack.pending()).toEqual([]);

  const second = await approved();
  const { hold } = await stack.operator.admin('hold', {
    on: 'agent',
    name: 'rosa',
    reason: 'a test',
    cancel_running: true,
  });
  const report = async () => JSON.parse(String((await rosa.execute({ name: 'report' })).result?.text));
  await stack.operator.admin('release', { ids: [hold.id] });
  await expect.poll(report).toEqual({
    called: ['lend', 'lend'],
    cancelled: ['lend'],
    declared: expect.any(Object),
  });
  expect(stack.host.waitsFor(second.requestState, 'rosa')).toBe(false);
});
