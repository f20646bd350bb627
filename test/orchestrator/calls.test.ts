import { writeFile } from 'node:fs/promises';
import { connectBroker } from '@signalbox/client';
import type { ToolRoute } from '@signalbox/mcp-host';
import type { CallOptions } from '@signalbox/mcp-host/tool-calls';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { connectWire } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';
const gate = 'mcp_counter__gate';
const slow = 'mcp_counter__slow';

test('four calls of one worker overlap, and each gets its own answer', async () => {
  await using stack = await startToolStack();
  const worker = await stack.executor('w1');
  const calls = [1, 2, 3, 4].map(() => worker.execute({ name: gate, arguments: { calls: 4 } }));
  for (const { result } of await Promise.all(calls)) {
    expect(result?.structuredContent).toEqual({ highWater: 4 });
  }
  const labels = await Promise.all([1, 2, 3].map((n) => worker.execute({ name: echo, arguments: { n } })));
  expect(labels.map(({ result }) => result?.structuredContent)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
});

test('a cancelled call is cancelled in the server, and the worker goes on', async () => {
  await using stack = await startToolStack();
  const worker = await stack.executor('w1');
  const abort = new AbortController();
  const call = worker.execute({ name: slow, arguments: { ms: 60_000 } }, { signal: abort.signal });
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  abort.abort();
  expect(await call).toMatchObject({ error: { code: 'cancelled', may_have_run: true } });
  await expect.poll(() => stack.ran('slow').map((line) => line.at)).toEqual(['start', 'cancelled']);
  await expect.poll(() => stack.orchestrator.inFlight).toBe(0);
  expect(await worker.execute({ name: count })).toHaveProperty('result.structuredContent', { n: 1 });
});

test("a call past its deadline is stopped in the server, and its unsafe tool's outcome is unknown", async () => {
  await using stack = await startToolStack();
  const worker = await stack.executor('w1');
  const late = await worker.execute({ name: slow, arguments: { ms: 60_000 } }, { timeoutMs: 1_000 });
  expect(late.error).toMatchObject({ may_have_run: true, retryable: false });
  expect(['outcome_unknown', 'tool_timeout']).toContain(late.error?.code);
  await expect.poll(() => stack.ran('slow').map((line) => line.at)).toEqual(['start', 'cancelled']);
});

test('progress reaches the calling worker, and only that one; a token in it does not', async () => {
  await using stack = await startToolStack();
  const worker = await stack.executor('w1');
  const other = await stack.executor('w2');
  const [mine, theirs]: unknown[][] = [[], []];
  const quiet = other.execute(
    { name: slow, arguments: { ms: 200, label: ` of sbx_rosa~${'x'.repeat(43)}` } },
    { onProgress: (progress) => theirs!.push(progress.message) },
  );
  await worker.execute(
    { name: slow, arguments: { ms: 400 } },
    { onProgress: (progress) => mine!.push(progress) },
  );
  await quiet;
  expect(mine).toEqual([
    { progress: 1, total: 4, message: 'step 1' },
    { progress: 2, total: 4, message: 'step 2' },
    { progress: 3, total: 4, message: 'step 3' },
  ]);
  expect(theirs).toEqual(['step 1 of [token]', 'step 2 of [token]', 'step 3 of [token]']);
});

test('a body that is no JSON at all, or a depth bomb, gets an error reply too', async () => {
  await using stack = await startToolStack();
  const token = await stack.broker.token('w1');
  await using wire = await connectWire(stack.broker.url, { agent: 'w1', token });
  wire.send({ type: 'subscribe', request_id: 's' });
  const ask = async (id: string, body: string): Promise<unknown> => {
    wire.send({ type: 'deliver', to: 'orchestrator', id, kind: 'mcp_request' }, body);
    const reply = await wire.next('message', { correlation_id: id });
    return JSON.parse(reply.body!);
  };
  for (const [id, body] of [
    ['text', 'not json'],
    ['bomb', '['.repeat(100_000)],
  ] as const) {
    expect(await ask(id, body)).toMatchObject({ error: { code: 'invalid_arguments', may_have_run: false } });
  }
  const good = JSON.stringify({ op: 'call', tool: echo, arguments: { n: 1 } });
  expect(await ask('good', good)).toHaveProperty('result.structuredContent', { n: 1 });
});

test('an unknown tool is answered with the nearest name', async () => {
  await using stack = await startToolStack();
  const client = await stack.client('w1');
  const body = { op: 'call', tool: 'mcp_counter__ecko' };
  const outcome = await client.request('orchestrator', 'mcp_request', body, { timeoutMs: 10_000 });
  expect(outcome).toMatchObject({
    reply: { json: { error: { code: 'tool_not_found', hint: expect.stringContaining(`'${echo}'`) } } },
  });
});

test('a result that is larger than a message may be is an error, the next smaller one is not', async () => {
  await using stack = await startToolStack({ broker: { limits: { message: { bytes: 20_000 } } } });
  const worker = await stack.executor('w1');
  const big = (bytes: number) => worker.execute({ name: 'mcp_counter__big', arguments: { bytes } });
  expect((await big(30_000)).error).toMatchObject({ code: 'result_too_large', may_have_run: true });
  // The text counts twice: once as content, once as the plain text beside it.
  expect((await big(9_000)).result?.text).toHaveLength(9_000);
});

test('a server that dies in mid-call is a typed failure, and the next call works', async () => {
  await using stack = await startToolStack();
  const worker = await stack.executor('w1');
  const crashed = await worker.execute({ name: 'mcp_counter__crash' });
  expect(crashed.error).toMatchObject({ code: 'outcome_unknown', may_have_run: true, retryable: false });
  expect(await worker.execute({ name: count })).toHaveProperty('result.success', true);
});

test('a running request that is delivered again is not run twice', async () => {
  await using stack = await startToolStack();
  const worker = await stack.executor('w1');
  const opener = `${stack.directory}/open`;
  const call = worker.execute({ name: gate, arguments: { file: opener } });
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  await stack.broker.restart();
  // Answered after both sides are back, so the request has been delivered again by then.
  expect(await worker.execute({ name: echo })).toHaveProperty('result.success', true);
  await writeFile(opener, '');
  expect(await call).toHaveProperty('result.success', true);
  expect(stack.ran('gate').map((line) => line.at)).toEqual(['start', 'end']);
});

test('stopping waits for the calls that run, and their answers arrive', async () => {
  await using stack = await startToolStack();
  const worker = await stack.executor('w1');
  const opener = `${stack.directory}/open`;
  const call = worker.execute({ name: gate, arguments: { file: opener } });
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  let stopped = false;
  const stop = stack.orchestrator.stop().then(() => {
    stopped = true;
  });
  expect([stopped, stack.orchestrator.inFlight]).toEqual([false, 1]);
  await writeFile(opener, '');
  expect(await call).toHaveProperty('result.success', true);
  await stop;
  expect([stopped, stack.orchestrator.inFlight]).toEqual([true, 0]);
});

test('a fault of the orchestrator itself becomes an error reply, and the next call is served', async () => {
  await using stack = await startToolStack();
  const worker = await stack.executor('w1');
  await stack.orchestrator.stop();
  const { host } = stack;
  const faulty = new Proxy(host, {
    get(target, property) {
      if (property === 'call') {
        return (route: ToolRoute, ...rest: [Record<string, unknown>, CallOptions]) => {
          if (route.name === count) throw new Error('a fault');
          return target.call(route, ...rest);
        };
      }
      const value = Reflect.get(target, property);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  await using client = await connectBroker({
    url: stack.broker.url,
    token: await stack.broker.token('orchestrator', 'orchestrator'),
    agent: 'orchestrator',
  });
  await using _orchestrator = await startOrchestrator({ client, host: faulty, policy: wholePolicy() });
  expect(await worker.execute({ name: count })).toMatchObject({
    error: { code: 'tool_panicked', retryable: false, may_have_run: true },
  });
  expect(await worker.execute({ name: echo })).toHaveProperty('result.success', true);
});
