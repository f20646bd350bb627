import { expect, test } from 'vitest';
import { startBrokerWithClients } from '../support/broker/broker-with-clients.ts';
import { recordSpans } from '../support/traces/span-recorder.ts';

const foreign = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const foreignTrace = foreign.slice(3, 35);

test('an ask and its reply are one trace: sent, processed, answered and received, each caused by the one before', async () => {
  const { tracing, spans, within, span } = recordSpans();
  await using site = await startBrokerWithClients();
  const { client: walt } = await site.connect('walt', { tracing });
  await walt.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }));
  const { client: rosa } = await site.connect('rosa#mcp-1', { tracing });
  const { value: outcome } = await within('work of rosa', () =>
    rosa.request('walt', 'ask', { secret: 'hunter2' }, { id: 'q1', timeoutMs: 10_000 }),
  );
  expect(outcome.status).toBe('completed');
  await expect.poll(() => spans().length).toBe(5);
  const facts = spans().map(({ name, kind, parent, errorType }) => [name, kind, parent, errorType]);
  expect(facts).toEqual(
    expect.arrayContaining([
      ['work of rosa', 'internal', undefined, undefined],
      ['send walt', 'producer', 'work of rosa', undefined],
      ['process walt', 'consumer', 'send walt', undefined],
      ['send rosa', 'producer', 'process walt', undefined],
      ['receive rosa', 'client', 'send rosa', undefined],
    ]),
  );
  expect(new Set(spans().map(({ traceId }) => traceId)).size).toBe(1);
  expect(span('process walt').attributes).toEqual({
    'messaging.system': 'signalbox',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'walt',
    'messaging.message.id': 'q1',
    'messaging.client.id': 'walt',
    'signalbox.message.kind': 'ask',
  });
  expect(span('send rosa').attributes).toMatchObject({
    'messaging.destination.name': 'rosa#mcp-1',
    'messaging.destination.temporary': true,
    'messaging.message.conversation_id': 'q1',
  });
  expect(JSON.stringify(spans())).not.toContain('hunter2');
});

test('a message belongs to the trace that its sender names, and is linked to the span in which it is sent', async () => {
  const { tracing, within, span } = recordSpans();
  await using site = await startBrokerWithClients();
  await site.token('walt');
  const { client: rosa } = await site.connect('rosa', { tracing });
  await within('work of rosa', () => rosa.deliver({ to: 'walt', kind: 'note', traceparent: foreign }));
  expect(span('send walt')).toMatchObject({
    traceId: foreignTrace,
    parent: 'remote',
    parentId: foreign.slice(36, 52),
    links: ['work of rosa'],
  });
  const { client: walt } = await site.connect('walt');
  const [message] = await walt.peek();
  expect(message).toHaveProperty('traceparent', span('send walt').traceparent);
});

test('a refused message and an unanswered request end their spans with the reason', async () => {
  const { tracing, spans } = recordSpans();
  await using site = await startBrokerWithClients();
  const { client: rosa } = await site.connect('rosa', { tracing });
  await expect(rosa.deliver({ to: 'nobody', kind: 'note' })).rejects.toHaveProperty(
    'code',
    'unknown_recipient',
  );
  await rosa.request('nobody', 'ask', 1, { timeoutMs: 10_000 });
  expect(spans().map(({ name, errorType }) => [name, errorType])).toEqual([
    ['send nobody', 'unknown_recipient'],
    ['send nobody', 'unknown_recipient'],
  ]);
});

test('a request that is given up is received as a failure, and belongs to its own sending', async () => {
  const { tracing, span } = recordSpans();
  await using site = await startBrokerWithClients();
  const { client: walt } = await site.connect('walt');
  const { messages } = await walt.subscribe();
  const { client: rosa } = await site.connect('rosa', { tracing });
  const asking = rosa.request('walt', 'ask', 1, { timeoutMs: 10_000 });
  const { value: ask } = await messages.next();
  await walt.nack([ask!.seq!], { dead: true });
  expect(await asking).toMatchObject({ status: 'undeliverable' });
  expect(span('receive rosa')).toMatchObject({ parent: 'send walt', errorType: 'dead' });
});

test('a second attempt is linked to the first one, in this process or in another one', async () => {
  const [first, second] = [recordSpans(), recordSpans()];
  await using site = await startBrokerWithClients();
  const { client: rosa } = await site.connect('rosa');
  const { client: walt } = await site.connect('walt', { tracing: first.tracing, random: () => 0 });
  let tries = 0;
  await walt.serve(['task'], async () => {
    if (tries++ < 2) throw new Error('not yet');
    return undefined;
  });
  await rosa.deliver({ to: 'walt', kind: 'task', id: 't1', traceparent: foreign });
  await expect.poll(() => first.spans().length).toBe(3);
  const attempts = first.spans();
  expect(attempts.map(({ name, parentId, errorType }) => [name, parentId, errorType])).toEqual([
    ['process walt', foreign.slice(36, 52), 'handler_failed'],
    ['process walt', foreign.slice(36, 52), 'handler_failed'],
    ['process walt', foreign.slice(36, 52), undefined],
  ]);
  expect(attempts.map(({ links }) => links.length)).toEqual([0, 1, 1]);

  // Another process of an agent tries what the first one could not finish.
  const seen: (string | undefined)[] = [];
  const { client: dead } = await site.connect('nemo', { tracing: first.tracing, random: () => 0.5 });
  await dead.serve(['task'], async () => {
    throw new Error('dies');
  });
  await rosa.deliver({ to: 'nemo', kind: 'task', id: 't2' });
  await expect.poll(() => first.spans().length).toBe(4);
  await dead.close();
  const { client: next } = await site.connect('nemo', { tracing: second.tracing });
  await next.serve(['task'], async ({ message }) => {
    seen.push(message.first_attempt);
    return undefined;
  });
  await expect.poll(() => second.spans().length).toBe(1);
  expect(seen).toEqual([first.spans()[3]!.traceparent]);
  expect(second.span('process nemo').links).toEqual(['remote']);
});

test('without tracing, valid trace contexts pass through and invalid ones are dropped', async () => {
  await using site = await startBrokerWithClients();
  const { client: walt } = await site.connect('walt');
  const served: (string | undefined)[] = [];
  await walt.serve(['ask'], async ({ traceparent, json }) => {
    served.push(traceparent);
    return { kind: 'reply', body: json ?? null };
  });
  const { client: rosa } = await site.connect('rosa');
  const ask = async (traceparent: string) => {
    const outcome = await rosa.request('walt', 'ask', 1, { timeoutMs: 10_000, traceparent });
    return outcome.status === 'completed' && outcome.reply.traceparent;
  };
  expect(await ask(foreign)).toBe(foreign);
  expect(await ask('00-not-valid-01')).toBeUndefined();
  expect(await ask('x'.repeat(500))).toBeUndefined();
  await rosa.deliver({ to: 'walt', kind: 'ask', traceparent: 'x'.repeat(500) });
  await rosa.deliver({ to: 'walt', kind: 'ask', traceparent: foreign });
  await expect.poll(() => served.length).toBe(5);
  expect(served).toEqual([foreign, undefined, undefined, undefined, foreign]);
});

test('what is never stored makes no spans', async () => {
  const { tracing, spans } = recordSpans();
  await using site = await startBrokerWithClients();
  const { client: orchestrator } = await site.connect('orchestrator', { role: 'orchestrator', tracing });
  await orchestrator.serve(['mcp_request'], async ({ progress }) => {
    progress({ progress: 1 });
    return { kind: 'mcp_reply', body: 1 };
  });
  const { client: rosa } = await site.connect('rosa', { tracing });
  const options = { timeoutMs: 10_000, ephemeral: true };
  const outcome = await rosa.request('orchestrator', 'mcp_request', 1, options);
  expect(outcome.status).toBe('completed');
  expect(spans()).toEqual([]);
});
