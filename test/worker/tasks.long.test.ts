import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { readCounter, startChild, startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { startFixture } from '../support/conformance/fixture-server.ts';
import { startJournaledStack } from '../support/orchestrator/journaled-stack.ts';
import { startFaceProcess, startShim } from '../support/worker/shim.ts';
import { faceWithTasks, taskClientOver } from '../support/worker/task-client.ts';

const gate = 'mcp_counter__gate';
const slow = 'mcp_counter__slow';
/** Every call that does not end at once becomes a task. */
const atOnce = { taskAfterMs: 1 };
const accepted = (content: object) => ({ action: 'accept', content });

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
  await using client = await connectBroker({ url, token, agent: 'orchestrator' });
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
