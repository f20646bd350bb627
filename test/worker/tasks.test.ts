import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programOptions } from '@signalbox/testing';
import { serveHttpFace } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { startJournaledStack } from '../support/orchestrator/journaled-stack.ts';
import { connectFace } from '../support/worker/mcp-client.ts';
import { faceWithTasks, httpTaskClient } from '../support/worker/task-client.ts';

const gate = 'mcp_counter__gate';
const slow = 'mcp_counter__slow';
const day = 86_400_000;
/** Every call that does not end at once becomes a task. */
const atOnce = { taskAfterMs: 1 };
const accepted = (content: object) => ({ action: 'accept', content });

test('A call that takes long becomes a task for clients that know tasks, over pipe and HTTP, and stays a call for all others.', async () => {
  await using stack = await startJournaledStack();
  const executor = await stack.executor('rosa');
  await using pipe = await faceWithTasks(executor, atOnce);
  const listen = { host: '127.0.0.1', port: 0 };
  const connect = { url: stack.broker.url };
  await using face = await serveHttpFace({ listen, connect, version: '1', ...atOnce });
  const http = httpTaskClient(face.port, await stack.broker.tokenOf('rosa'));
  const file = join(stack.directory, 'open');

  const unaware = http.ask('tools/call', { name: gate, arguments: { file } }, {});
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  await using older = await connectFace(executor, { mailbox: false, ...atOnce });
  const ofOlder = older.call(gate, { file });
  await expect.poll(() => stack.ran('gate').length).toBe(2);
  const tasks = [await pipe.begin(gate, { file }), await http.begin(gate, { file })];
  expect(tasks[0]).toMatchObject({ ttlMs: expect.any(Number), pollIntervalMs: expect.any(Number) });
  expect(tasks[0]!.ttlMs).toBeGreaterThanOrEqual(day);
  // Each process of the agent knows the task.
  for (const client of [pipe, http]) {
    for (const { taskId, createdAt } of tasks)
      expect(await client.get(taskId)).toMatchObject({
        ...{ taskId, createdAt, status: 'working', resultType: 'complete' },
      });
  }
  await writeFile(file, '');
  const structuredContent = { highWater: 4 };
  expect(await unaware).toMatchObject({ result: { structuredContent } });
  expect(await ofOlder).toMatchObject({ structuredContent });
  for (const { taskId } of tasks) {
    const { result } = await http.becomes(taskId, 'completed');
    expect(result).toMatchObject({ structuredContent });
  }
  expect(stack.ran('gate').filter(({ at }) => at === 'start')).toHaveLength(4);

  await using patient = await faceWithTasks(executor);
  const echoed = { name: 'mcp_counter__echo', arguments: { n: 1 } };
  expect(await patient.ask('tools/call', echoed)).toMatchObject({
    result: { resultType: 'complete', structuredContent: { n: 1 } },
  });
  const { result: discovered } = await pipe.ask('server/discover');
  expect(discovered!.capabilities.extensions).toEqual({ 'io.modelcontextprotocol/tasks': {} });
  expect(older.client.getServerCapabilities()).not.toHaveProperty('extensions');
  for (const client of [pipe, http]) {
    for (const method of ['tasks/list', 'tasks/result'])
      expect(await client.ask(method, { taskId: 'x' })).toMatchObject({ error: { code: -32601 } });
  }
});

test('A task is its agent’s alone: what is another one’s, never was or is no id gets one and the same error.', async () => {
  await using stack = await startJournaledStack();
  await using rosa = await faceWithTasks(await stack.executor('rosa'), atOnce);
  await using walt = await faceWithTasks(await stack.executor('walt'), atOnce);
  const { taskId } = await rosa.begin(slow, { ms: 60_000 });
  const refused = { code: -32602, message: expect.stringContaining('no task of yours') };
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const answers = [taskId, 'never-was', 'no id'].map((id) =>
      walt.ask(method, { taskId: id, inputResponses: {} }),
    );
    const [ofRosa, ...others] = (await Promise.all(answers)).map(({ error }) => error);
    expect(ofRosa).toEqual(refused);
    expect(others).toEqual([ofRosa, ofRosa]);
    const { error } = await rosa.ask(method, { taskId, inputResponses: {} }, {});
    expect(error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    });
  }
  const notifications = { taskIds: [taskId] };
  expect(await rosa.ask('subscriptions/listen', { notifications }, {})).toMatchObject({
    error: { code: -32021 },
  });
  expect(await rosa.get(taskId)).toMatchObject({ status: 'working' });

  for (let times = 0; times < 2; times++) {
    const { result } = await rosa.ask('tasks/cancel', { taskId });
    expect(result).toEqual({ resultType: 'complete', _meta: expect.anything() });
    const ended = await rosa.becomes(taskId, 'cancelled');
    expect(ended.statusMessage).toContain('rosa cancelled');
  }
  await expect.poll(() => stack.ran('slow').map(({ at }) => at)).toEqual(['start', 'cancelled']);
});

test('An agent has no more tasks under way than calls, and another one’s go on.', async () => {
  const concurrency = { perWorker: 1, waitingPerWorker: 1 };
  await using stack = await startJournaledStack({ concurrency });
  await using rosa = await faceWithTasks(await stack.executor('rosa'), atOnce);
  await using walt = await faceWithTasks(await stack.executor('walt'), atOnce);
  const first = await rosa.begin(slow, { ms: 60_000 });
  const second = await rosa.begin(slow, { ms: 60_000 });
  expect(await rosa.get(second.taskId)).toMatchObject({ statusMessage: expect.stringContaining('its turn') });
  const call = { name: slow, arguments: { ms: 60_000 } };
  expect(await rosa.ask('tools/call', call, {})).toMatchObject({
    result: { isError: true, structuredContent: { error: { retryable: true } } },
  });
  const ofWalt = await walt.begin(slow, { ms: 60_000 });
  for (const [client, { taskId }] of [
    [rosa, first],
    [rosa, second],
    [walt, ofWalt],
  ] as const) {
    await client.ask('tasks/cancel', { taskId });
    await client.becomes(taskId, 'cancelled');
  }
});

test('A call that waits for a person is a task until it has its decision.', async () => {
  await using stack = await startAskingStack();
  const onlyOfWaiting = { taskAfterMs: 60_000, pendingAfterMs: 60_000 };
  await using rosa = await faceWithTasks(await stack.executor('rosa'), onlyOfWaiting);
  const { taskId } = await rosa.begin('mcp_counter__count');
  const [approval] = await stack.waits();
  expect(await rosa.get(taskId)).toMatchObject({ statusMessage: expect.stringContaining(approval!.id) });
  await stack.decide(approval!.id, { verdict: 'approve' });
  expect(await rosa.becomes(taskId, 'completed')).toMatchObject({ result: { structuredContent: { n: 1 } } });

  // One that is cancelled while somebody approves it stays cancelled.
  const other = await rosa.begin(slow, { ms: 60_000 });
  const [approved] = await stack.waits();
  await Promise.all([
    rosa.ask('tasks/cancel', { taskId: other.taskId }),
    stack.decide(approved!.id, { verdict: 'approve' }),
  ]);
  await rosa.becomes(other.taskId, 'cancelled');
});

test('A task of a server of an older revision goes on with the answers to its questions, and its server is told when it is cancelled.', async () => {
  const script = fileURLToPath(new URL('../support/mcp-host/asking-server.ts', import.meta.url));
  const server = { type: 'stdio' as const, command: process.execPath, args: [...programOptions(), script] };
  await using stack = await startJournaledStack({ servers: { old: server }, counter: false });
  await using face = await faceWithTasks(await stack.executor('rosa'), atOnce);
  const beginAsking = async (file: string) => {
    const until = join(stack.directory, file);
    const { taskId } = await face.begin('mcp_old__lend', { until });
    await writeFile(until, '');
    const { inputRequests } = await face.becomes(taskId, 'input_required');
    expect(inputRequests).toMatchObject({ '0.question_1': { method: 'elicitation/create' } });
    return taskId;
  };
  const answered = await beginAsking('first');
  const inputResponses = { '0.question_1': accepted({ name: 'Ada' }) };
  await face.ask('tasks/update', { taskId: answered, inputResponses });
  const { result } = await face.becomes(answered, 'completed');
  expect(JSON.parse(result.content[0].text)).toEqual({ result: accepted({ name: 'Ada' }) });

  const dropped = await beginAsking('second');
  await face.ask('tasks/cancel', { taskId: dropped });
  expect(await face.get(dropped)).toMatchObject({ status: 'cancelled' });
  const report = async () => {
    const { result } = await face.ask('tools/call', { name: 'mcp_old__report', arguments: {} }, {});
    return JSON.parse(result!.content[0].text).cancelled;
  };
  await expect.poll(report).toEqual(['lend']);
});
