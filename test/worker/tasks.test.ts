import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectBroker } from '@signalbox/client';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { programOptions, readCounter, startChild, startTestBroker, tempDir } from '@signalbox/testing';
import { serveHttpFace } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { startFixture } from '../support/conformance/fixture-server.ts';
import { startJournaledStack } from '../support/orchestrator/journaled-stack.ts';
import { connectFace } from '../support/worker/mcp-client.ts';
import { startFaceProcess, startShim } from '../support/worker/shim.ts';
import { faceWithTasks, httpTaskClient, taskClientOver } from '../support/worker/task-client.ts';

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

test('A task that asks in the middle takes its answers one by one, also at another face and orchestrator, and ends as its call would.', async () => {
  await using fixture = await startFixture();
  const servers = { fixture: { type: 'http' as const, url: fixture.url, prefix: false } };
  await using stack = await startJournaledStack({ servers, counter: false });
  const executor = await stack.executor('rosa');
  await using face = await faceWithTasks(executor, atOnce);
  const until = join(stack.directory, 'open');
  const begun = ['multi_input', 'confirm_delete', 'failing_job', 'protocol_error_job', 'multi_input'];
  const [many, one, failing, panicking, shared] = await Promise.all(
    begun.map((name) => face.begin(name, { until })),
  );
  await writeFile(until, '');
  expect(await face.becomes(failing!.taskId, 'completed')).toMatchObject({ result: { isError: true } });
  expect(await face.becomes(panicking!.taskId, 'failed')).toMatchObject({
    error: { code: -32603, message: 'the job panicked', data: { at: 'work' } },
  });

  const { taskId } = many!;
  const { inputRequests } = await face.becomes(taskId, 'input_required');
  expect(inputRequests).toMatchObject({ '0.first': { method: 'elicitation/create' }, '0.second': {} });
  const update = (client: typeof face, inputResponses: object) =>
    client.ask('tasks/update', { taskId, inputResponses });
  const acknowledged = { result: { resultType: 'complete' } };
  const unasked = { first: accepted({}), '1.first': accepted({}) };
  expect(await update(face, unasked)).toMatchObject(acknowledged);
  expect(await update(face, { '0.second': accepted({ confirm: true }) })).toMatchObject(acknowledged);
  expect(Object.keys((await face.get(taskId)).inputRequests)).toEqual(['0.first']);

  // Two faces that answer at once do not take each other's place.
  await face.becomes(shared!.taskId, 'input_required');
  await using second = await faceWithTasks(await stack.executor('rosa'));
  const halves = [face, second].map((client, i) => {
    const inputResponses = { [i === 0 ? '0.first' : '0.second']: accepted({ confirm: true }) };
    return client.ask('tasks/update', { taskId: shared!.taskId, inputResponses });
  });
  expect(await Promise.all(halves)).toMatchObject([acknowledged, acknowledged]);
  expect(await face.becomes(shared!.taskId, 'completed')).not.toHaveProperty('result.isError');

  await face.becomes(one!.taskId, 'input_required');
  await face.ask('tasks/cancel', { taskId: one!.taskId });
  expect(await face.get(one!.taskId)).toMatchObject({ status: 'cancelled' });

  await stack.orchestrator.stop();
  const { url } = stack.broker;
  const token = await stack.broker.tokenOf('orchestrator', 'orchestrator');
  await using client = await connectBroker({ url, token, agent: 'orchestrator', backoff: 'orchestrator' });
  await using _next = await startOrchestrator({
    ...{ client, host: stack.host, policy: wholePolicy(), journal: stack.journal },
  });
  await using other = await faceWithTasks(await stack.executor('rosa'));
  expect(Object.keys((await other.get(taskId)).inputRequests)).toEqual(['0.first']);
  const last = { '0.first': accepted({ confirm: false }), '0.second': accepted({ confirm: false }) };
  expect(await update(other, last)).toMatchObject(acknowledged);
  const { result } = await other.becomes(taskId, 'completed');
  expect(JSON.parse(result.content[0].text)).toEqual({
    first: accepted({ confirm: false }),
    second: accepted({ confirm: true }),
  });
  expect(await other.get(one!.taskId)).toMatchObject({ status: 'cancelled' });
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

test('Tasks outlive kill -9 of their face and orchestrator: a safe one ends with its result, another one as outcome_unknown.', async () => {
  await using directory = await tempDir();
  await using broker = await startTestBroker({ durability: 'process' });
  const own = await broker.token('orchestrator', 'orchestrator');
  const main = new URL('../support/worker/tasks-orchestrator-main.ts', import.meta.url);
  const args = [broker.url, own, directory.path];
  const socket = join(directory.path, 'face.sock');
  let [orchestrator, face] = await Promise.all([
    startChild(main, { args }),
    startFaceProcess(socket, broker.url, 1),
  ]);
  await using ending = new AsyncDisposableStack();
  ending.defer(() => orchestrator[Symbol.asyncDispose]());
  ending.defer(() => face[Symbol.asyncDispose]());
  const shim = ending.use(startShim(socket, await broker.tokenOf('rosa', 'worker')));
  const rosa = await taskClientOver(shim.transport);
  const file = join(directory.path, 'open');
  const safe = await rosa.begin(gate, { file });
  const unsafe = await rosa.begin(slow, { ms: 60_000 });
  const starts = (tool: string) =>
    readCounter(join(directory.path, 'counter.jsonl')).filter(
      (line) => line.tool === tool && line.at === 'start',
    );
  await expect.poll(() => [starts('gate').length, starts('slow').length]).toEqual([1, 1]);

  await Promise.all([orchestrator.end('SIGKILL'), face.end('SIGKILL')]);
  [orchestrator, face] = await Promise.all([
    startChild(main, { args }),
    startFaceProcess(socket, broker.url, 1),
  ]);
  expect(await rosa.becomes(unsafe.taskId, 'completed')).toMatchObject({
    result: { isError: true, structuredContent: { error: { code: 'outcome_unknown' } } },
  });
  await expect.poll(() => starts('gate').length).toBe(2);
  expect(await rosa.get(safe.taskId)).toMatchObject({ status: 'working', createdAt: safe.createdAt });
  await writeFile(file, '');
  expect(await rosa.becomes(safe.taskId, 'completed')).toMatchObject({
    createdAt: safe.createdAt,
    result: { structuredContent: { highWater: 1 } },
  });
  // Nobody took the reply out of the inbox that the dead face held, and it is there all the same.
  await orchestrator.end('SIGKILL');
  orchestrator = await startChild(main, { args });
  expect(await rosa.becomes(safe.taskId, 'completed')).toMatchObject({
    result: { structuredContent: { highWater: 1 } },
  });
  expect(starts('slow')).toHaveLength(1);
});
