import { writeFile } from 'node:fs/promises';
import { connectBroker } from '@signalbox/client';
import { expect, test } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';
const gate = 'mcp_counter__gate';
const slow = 'mcp_counter__slow';

test('a limit on calls per worker holds one worker back and lets another pass', async () => {
  await using stack = await startToolStack({ concurrency: { perWorker: 1 } });
  const greedy = await stack.executor('greedy');
  const modest = await stack.executor('modest');
  const opener = `${stack.directory}/open`;
  const waiting = [1, 2].map(() => greedy.execute({ name: gate, arguments: { file: opener } }));
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  expect(await modest.execute({ name: count })).toHaveProperty('result.structuredContent', { n: 1 });
  expect(stack.ran('gate').length).toBe(1);
  await writeFile(opener, '');
  for (const { result } of await Promise.all(waiting)) {
    expect(result?.structuredContent).toEqual({ highWater: 1 });
  }
});

test("a call's own timeout starts when it starts; its wait in the queue is not counted", async () => {
  await using stack = await startToolStack({ concurrency: { global: 1 } });
  const client = await stack.client('w1');
  const call = (ms: number) =>
    client.request(
      'orchestrator',
      'mcp_request',
      { op: 'call', tool: slow, arguments: { ms }, options: { timeout_ms: 1_400 } },
      { timeoutMs: 20_000 },
    );
  const outcomes = await Promise.all([call(500), call(500), call(500)]);
  for (const outcome of outcomes) expect(outcome).toHaveProperty('reply.json.result.content');
});

test('a call whose caller gives up while it waits never runs', async () => {
  await using stack = await startToolStack({ concurrency: { perWorker: 1 } });
  const worker = await stack.executor('w1');
  const abort = new AbortController();
  const running = worker.execute({ name: slow, arguments: { ms: 60_000 } }, { signal: abort.signal });
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  const waiting = await worker.execute({ name: count }, { timeoutMs: 500 });
  expect(waiting.error?.may_have_run).toBeDefined();
  abort.abort();
  await running;
  expect(await worker.execute({ name: echo })).toHaveProperty('result.success', true);
  expect(stack.ran('count')).toEqual([]);
});

test('arguments may be an object or the JSON text of one, and nothing else', async () => {
  await using stack = await startToolStack();
  const worker = await stack.executor('w1');
  const given = { text: 'größer', n: 12 };
  for (const args of [given, JSON.stringify(given)]) {
    const { result } = await worker.execute({ name: echo, arguments: args });
    expect(result?.structuredContent).toEqual(given);
  }
  const refused = await worker.execute({ name: echo, arguments: '[1]' });
  expect(refused.error).toMatchObject({ code: 'invalid_arguments', may_have_run: false });
  expect(stack.ran('echo').filter((line) => line.at === 'start')).toHaveLength(2);
});

test('a body that cannot be read gets an error reply that names the field', async () => {
  await using stack = await startToolStack();
  const client = await stack.client('w1');
  const ask = (body: unknown) => client.request('orchestrator', 'mcp_request', body, { timeoutMs: 10_000 });
  for (const [body, field] of [
    [{ op: 'dance' }, "field 'op'"],
    [{ op: 'call', tool: '' }, "field 'tool'"],
    ['text', "field 'body'"],
  ] as const) {
    expect(await ask(body)).toMatchObject({
      reply: { json: { error: { code: 'invalid_arguments', message: expect.stringContaining(field) } } },
    });
  }
  expect(await ask({ op: 'call', tool: echo })).toHaveProperty('reply.json.result.content');
});

test('stopping gives up on calls that do not end, after the time it is given', async () => {
  await using stack = await startToolStack({ drainMs: 100 });
  const worker = await stack.executor('w1');
  const call = worker.execute({ name: slow, arguments: { ms: 60_000 } });
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  await stack.orchestrator.stop();
  expect(stack.orchestrator.inFlight).toBe(1);
  await worker.close();
  expect(await call).toHaveProperty('error.may_have_run', true);
});

test('messages of other kinds are retired and keep nobody from being served', async () => {
  await using stack = await startToolStack();
  const worker = await stack.executor('w1');
  const client = await stack.client('w1');
  for (let i = 0; i < 3; i++) await client.deliver({ to: 'orchestrator', kind: 'note', body: { i } });
  expect(await worker.execute({ name: count })).toHaveProperty('result.success', true);
  const operator = await connectBroker({
    url: stack.broker.url,
    token: await stack.broker.operatorToken(),
    agent: 'operator#test',
  });
  await using _closing = operator;
  await expect.poll(() => operator.peek({ address: 'orchestrator' })).toEqual([]);
});
