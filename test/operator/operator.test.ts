import { connectBroker } from '@signalbox/client';
import {
  dropDeadLetters,
  followTail,
  issueToken,
  listCalls,
  listDeadLetters,
  listOfflineWithMail,
  listTokens,
  queryOrchestrator,
  readCalls,
  readDeadLetter,
  readThread,
  readTimeline,
  retryDeadLetters,
  revokeToken,
  type TailEvent,
} from '@signalbox/client/operator';
import { RoleToolAllowlist, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import type { CallRecord } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { startJournaledStack } from '../support/orchestrator/journaled-stack.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const allowlist = RoleToolAllowlist.fromEntries([
  ['builder', ['mcp_counter__*']],
  ['operator', ['*']],
]);

test('A program follows a tool call, reads its timeline and asks the orchestrator about its servers.', async () => {
  await using stack = await startToolStack({ allowlist });
  const operator = await stack.client('operator', 'operator');
  const events: TailEvent[] = [];
  using _tail = await followTail(operator, {
    orchestrator: 'orchestrator',
    onEvent: (event) => events.push(event),
  });
  const executor = await stack.executor('bea', 'builder');
  await executor.execute({ name: 'mcp_counter__echo', arguments: {} });
  await expect
    .poll(() => events.map((event) => (event.what === 'call' ? event.call.outcome : event.what)))
    .toEqual(expect.arrayContaining(['stored', 'delivered', 'ok']));

  const timeline = await readTimeline(operator, 'orchestrator', { since: 0, agent: 'bea', limit: 100 });
  expect(timeline.callsMissing).toBeUndefined();
  const shapes = timeline.groups.map(({ entries }) =>
    entries.map((entry) => (entry.what === 'message' ? entry.kind : entry.tool)),
  );
  expect(shapes).toContainEqual(['mcp_request', 'mcp_counter__echo', 'mcp_reply']);
  const { servers } = await queryOrchestrator(operator, 'orchestrator', { op: 'servers' });
  expect(servers).toMatchObject([{ name: 'counter', state: 'ready', calls: 1 }]);
  const refused = queryOrchestrator(executor.client, 'orchestrator', { op: 'servers' });
  await expect(refused).rejects.toMatchObject({ code: 'permission_denied' });
});

test('Calls that only read are listed after a restart of the orchestrator, found by agent, tool and outcome, and stand in their thread.', async () => {
  const keepBodies = { kinds: ['note'], ageMs: 86_400_000, bytes: 1_000_000 };
  await using stack = await startToolStack({ allowlist, broker: { keepBodies } });
  const operator = await stack.client('operator', 'operator');
  const bea = await stack.executor('bea', 'builder', { thread: 'plan' });
  await bea.client.deliver({ to: 'operator', kind: 'note', thread: 'plan', body: 'I begin' });
  await bea.execute({ name: 'mcp_counter__echo', arguments: {} }, { requestId: 'e1' });
  await bea.execute({ name: 'mcp_counter__count', arguments: {} }, { requestId: 'c1' });
  const walt = await stack.executor('walt', 'builder');
  await walt.execute({ name: 'mcp_counter__echo', arguments: {} }, { requestId: 'e2' });
  const refused = { op: 'call', tool: 'mcp_other__tool' };
  await walt.client.request('orchestrator', 'mcp_request', refused, { id: 'x1', timeoutMs: 20_000 });
  const list = async (query = {}) => {
    const { calls, known_since } = await readCalls(operator, 'orchestrator', query);
    return { ids: calls.map(({ request_id }) => request_id), calls, known_since };
  };
  const before = await list();
  expect(before.ids).toEqual(['e1', 'c1', 'e2', 'x1']);
  await stack.orchestrator.stop();
  const { url, tokenOf } = stack.broker;
  const token = await tokenOf('orchestrator', 'orchestrator');
  await using client = await connectBroker({ url, token, agent: 'orchestrator' });
  await using _next = await startOrchestrator({
    client,
    host: stack.host,
    policy: wholePolicy({ allowlist }),
  });
  const after = await list();
  expect(after.known_since).toBeGreaterThan(before.known_since);
  expect(after.ids).toEqual(before.ids);
  const timesOf = ({ calls }: typeof before) =>
    calls.map(({ received_at, started_at, finished_at }) => ({ received_at, started_at, finished_at }));
  expect(timesOf(after)).toEqual(timesOf(before));
  const [echo] = before.calls as [CallRecord];
  expect(after.calls[0]).toMatchObject({
    ...{ agent: 'bea', role: 'builder', tool: 'mcp_counter__echo', server: 'counter', thread: 'plan' },
    ...{ state: 'finished', outcome: 'ok', reply_kept: false },
    ...{ request_bytes: echo.request_bytes, reply_bytes: echo.reply_bytes },
  });
  await walt.execute({ name: 'mcp_counter__echo', arguments: {} }, { requestId: 'e3' });
  expect((await list()).ids).toEqual(['e1', 'c1', 'e2', 'x1', 'e3']);
  expect((await list({ limit: 2 })).ids).toEqual(['x1', 'e3']);
  expect((await list({ since: after.known_since })).ids).toEqual(['e3']);
  expect((await list({ running: true })).ids).toEqual([]);
  expect((await list({ agent: 'walt' })).ids).toEqual(['e2', 'x1', 'e3']);
  expect((await list({ agent: 'bea', tool: 'counter:ECHO' })).ids).toEqual(['e1']);
  expect((await list({ tool: 'mcp_counter__', outcome: 'error' })).ids).toEqual([]);
  expect((await list({ outcome: 'denied' })).calls).toMatchObject([
    { request_id: 'x1', agent: 'walt', role: 'builder', tool: 'mcp_other__tool', state: 'finished' },
  ]);
  expect((await list({ tool: 'count', outcome: 'ok', limit: 1 })).ids).toEqual(['e3']);
  const { entries } = await readThread(operator, 'orchestrator', { thread: 'plan', limit: 10 });
  expect(entries.map((entry) => (entry.what === 'call' ? entry.request_id : entry.what))).toEqual([
    ...['message', 'e1', 'c1'],
  ]);
});

test('After a restart the newest calls are listed, although the journal knows only older ones.', async () => {
  await using stack = await startJournaledStack({ allowlist });
  const operator = await stack.client('operator', 'operator');
  const bea = await stack.executor('bea', 'builder');
  await bea.execute({ name: 'mcp_counter__count', arguments: {} }, { requestId: 'c1' });
  await bea.execute({ name: 'mcp_counter__echo', arguments: {} }, { requestId: 'e1' });
  await stack.orchestrator.stop();
  const { url, tokenOf } = stack.broker;
  const token = await tokenOf('orchestrator', 'orchestrator');
  await using client = await connectBroker({ url, token, agent: 'orchestrator' });
  const { host, journal } = stack;
  await using _next = await startOrchestrator({ client, host, journal, policy: wholePolicy({ allowlist }) });
  const { calls } = await readCalls(operator, 'orchestrator', { limit: 1 });
  expect(calls).toMatchObject([{ request_id: 'e1' }]);
});

test('A timeline without an orchestrator has the messages, and the reason why the calls are missing.', async () => {
  await using stack = await startToolStack({ counter: false });
  const operator = await stack.client('operator', 'operator');
  const ann = await stack.client('ann');
  await ann.deliver({ to: 'operator', kind: 'note', id: 'n1', body: 'secret' });
  const timeline = await readTimeline(operator, 'nobody', { since: 0, limit: 10 });
  expect(timeline).toMatchObject({
    groups: [{ correlation_id: 'n1', entries: [{ what: 'message', kind: 'note' }] }],
    callsMissing: { code: 'no_consumer' },
  });
  await expect(listCalls(operator, 'nobody')).rejects.toMatchObject({ code: 'no_consumer' });
});

test('A program issues, lists and revokes tokens, and retries and drops dead letters.', async () => {
  await using stack = await startToolStack({ counter: false });
  const operator = await stack.client('operator', 'operator');
  const { id } = await issueToken(operator, { agent: 'cara', role: 'worker', ttlMs: 60_000 });
  expect(await listTokens(operator)).toContainEqual(expect.objectContaining({ id, agent: 'cara' }));
  await revokeToken(operator, id);
  expect((await listTokens(operator)).map((token) => token.id)).not.toContain(id);

  const bob = await stack.clientAt('bob');
  await using inbox = await bob.subscribe();
  for (const body of ['first', 'second']) await operator.deliver({ to: 'bob', kind: 'note', body });
  for (let taken = 0; taken < 2; taken++) {
    const { value } = await inbox.messages.next();
    await bob.nack([value!.seq!], { dead: true, reason: 'no use for it' });
  }
  const { messages, more } = await listDeadLetters(operator, { limit: 1 });
  expect({ more, messages }).toMatchObject({ more: true, messages: [{ inbox: 'bob' }] });
  const [first, second] = (await listDeadLetters(operator, { limit: 10 })).messages.map(({ seq }) => seq);
  expect(await readDeadLetter(operator, first!)).toMatchObject({ body: '"first"' });
  expect(await retryDeadLetters(operator, [first!])).toEqual({ done: [first], unknown: [], refused: [] });
  expect(await dropDeadLetters(operator, [second!, 999])).toEqual({
    done: [second],
    unknown: [999],
    refused: [],
  });
});

test('Offline agents of one role are counted without those of others.', async () => {
  await using stack = await startToolStack({ counter: false });
  const operator = await stack.client('operator', 'operator');
  const sender = await stack.client('sender');
  for (const agent of ['ann', 'bob', 'zoe']) {
    await stack.broker.token(agent, agent === 'zoe' ? 'writer' : 'worker');
    await sender.deliver({ to: agent, kind: 'note' });
  }
  const ids = async (query: { limit: number; role?: string }) => {
    const { agents, more } = await listOfflineWithMail(operator, query);
    return [agents.map(({ agent }) => agent), more];
  };
  expect(await ids({ limit: 1, role: 'writer' })).toEqual([['zoe'], false]);
  expect(await ids({ limit: 1, role: 'worker' })).toEqual([['ann'], true]);
  expect(await ids({ limit: 2 })).toEqual([['ann', 'bob'], true]);
});
