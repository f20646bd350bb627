import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { explanationSchema, type McpReply, type TaskState } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { startFixture } from '../support/conformance/fixture-server.ts';
import { explained } from '../support/orchestrator/explained-step.ts';
import { startJournaledStack } from '../support/orchestrator/journaled-stack.ts';
import { askData } from '../support/orchestrator/requests.ts';
import { faceWithTasks } from '../support/worker/task-client.ts';

const confirmed = { '0.confirmation': { action: 'accept', content: { confirm: true } } };

async function send(client: BrokerClient, body: object, id?: string): Promise<McpReply> {
  const outcome = await client.request('orchestrator', 'mcp_request', body, {
    timeoutMs: 20_000,
    ...(id !== undefined && { id }),
  });
  if (outcome.status !== 'completed') throw new Error(`the request ended ${outcome.status}`);
  return outcome.reply.json as McpReply;
}

const update = (client: BrokerClient, taskId: string, responses: object) =>
  send(client, { op: 'update_task', task_id: taskId, round: 1, input_responses: responses }, `${taskId}.1`);

async function stateOf(client: BrokerClient, body: object): Promise<TaskState> {
  const reply = await send(client, body);
  if (!('data' in reply)) throw new Error(JSON.stringify(reply));
  return reply.data as TaskState;
}

/** A stack with the asking tools of the fixture, an agent, and the same agent under a role that may call none of them. */
async function startAskingTasks() {
  await using starting = new AsyncDisposableStack();
  const fixture = starting.use(await startFixture());
  const servers = { fixture: { type: 'http' as const, url: fixture.url, prefix: false } };
  const allowlist = RoleToolAllowlist.fromEntries([
    ['worker', ['*']],
    ['guest', ['mcp_counter__*']],
  ]);
  const stack = starting.use(await startJournaledStack({ servers, allowlist }));
  const rosa = await stack.client('rosa');
  const { url } = stack.broker;
  const token = await stack.broker.token('rosa', 'guest');
  const guest = starting.use(await connectBroker({ url, token, agent: requestAddress('rosa') }));
  const started = starting.move();
  return {
    ...stack,
    rosa,
    guest,
    /** Makes a task with this id, by default one that asks for confirmation. It has ended, or asks, when this resolves. */
    async begin(id: string, tool = 'confirm_delete', fileName = 'until'): Promise<TaskState> {
      const file = join(stack.directory, id);
      const round = { client_capabilities: { elicitation: { form: {} } } };
      const called = send(rosa, { op: 'call', tool, arguments: { [fileName]: file }, round }, id);
      const begins = { op: 'task', task_id: id, begins: true };
      await expect.poll(async () => (await stateOf(rosa, begins)).state).toBe('working');
      await writeFile(file, '');
      await called;
      return await stateOf(rosa, { op: 'task', task_id: id });
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

test('A task that is cancelled as its answers come stays cancelled: its tool does not go on.', async () => {
  await using stack = await startAskingTasks();
  const { rosa } = stack;
  const ids = Array.from({ length: 6 }, (_, i) => `task-${i}`);
  await Promise.all(ids.map((id) => stack.begin(id)));
  const ends = ids.map(async (id) => {
    const [cancelled, updated] = await Promise.all([
      stateOf(rosa, { op: 'cancel_task', task_id: id }),
      update(rosa, id, confirmed),
    ]);
    return [cancelled, updated, await stateOf(rosa, { op: 'task', task_id: id })];
  });
  const off = { state: 'finished', outcome: 'cancelled' };
  const error = { code: 'cancelled', may_have_run: false };
  for (const end of await Promise.all(ends)) expect(end).toMatchObject([off, { error }, off]);
});

test('A role that may not call the tool of a task neither reads its questions nor takes one of its rounds.', async () => {
  await using stack = await startAskingTasks();
  const { rosa, guest } = stack;
  const asks = await stack.begin('task');
  expect(asks).toMatchObject({ state: 'input_required', round: 0 });
  for (const op of ['task', 'cancel_task'])
    expect(await stateOf(guest, { op, task_id: 'task' })).toEqual({ state: 'unknown' });
  const refused = { error: { code: 'invalid_arguments', may_have_run: false } };
  expect(await update(guest, 'task', {})).toMatchObject(refused);
  expect(await stateOf(rosa, { op: 'task', task_id: 'task' })).toEqual(asks);
});

test('A round of a task is no task itself, so that its tool does not go on twice.', async () => {
  await using stack = await startAskingTasks();
  const { rosa } = stack;
  await stack.begin('task');
  expect(await update(rosa, 'task', {})).toHaveProperty('input_required');
  expect(await stateOf(rosa, { op: 'task', task_id: 'task.1' })).toEqual({ state: 'unknown' });
  expect(await update(rosa, 'task.1', confirmed)).toMatchObject({ error: { code: 'invalid_arguments' } });
});

test('Answers of a round that still lacks others are kept at once, also while a hold is on its tool.', async () => {
  await using stack = await startAskingTasks();
  const { rosa } = stack;
  await stack.begin('task');
  const operator = await stack.client('operator', 'operator');
  await operator.admin('hold', { on: 'tool', name: 'confirm_delete', reason: 'a look first' });
  const question = { op: 'explain', role: 'worker', tool: 'confirm_delete' };
  const explain = () => askData(operator, question, explanationSchema);
  await expect.poll(explain).toEqual(explained('hold', { verdict: 'waits' }));
  expect(await update(rosa, 'task', {})).toHaveProperty('input_required');
});

test('A call that only has the id of a round is none, and answers that it kept from being taken are not acknowledged.', async () => {
  await using stack = await startAskingTasks();
  const { rosa } = stack;
  const asks = await stack.begin('task');
  const ended = await stack.begin('task.1', 'mcp_counter__gate', 'file');
  expect(ended).toMatchObject({ state: 'finished', outcome: 'ok' });
  expect(await stateOf(rosa, { op: 'task', task_id: 'task' })).toEqual(asks);
  await using face = await faceWithTasks(await stack.executor('rosa'));
  expect(await face.ask('tasks/update', { taskId: 'task', inputResponses: confirmed })).toMatchObject({
    error: { code: -32603, message: expect.stringContaining('Send them again') },
  });
});

test('What ended without an answer is told as it was: a round whose task is gone, and a call whose request is over.', async () => {
  await using stack = await startAskingTasks();
  const { rosa, journal } = stack;
  const call = (requestId: string) => ({
    ...{ agent: 'rosa', requestId, role: 'worker', tool: 'mcp_counter__count' },
    ...{ receivedAt: Date.now(), inbox: 'b-1 orchestrator', lifetimeMs: 0 },
  });
  await journal.start({ ...call('gone.1'), startedAt: Date.now() });
  expect(await update(rosa, 'gone', {})).toMatchObject({
    error: { code: 'outcome_unknown', may_have_run: true },
  });
  await journal.keep(call('over'));
  expect(await send(rosa, { op: 'status', request_id: 'over' })).toEqual({ data: { state: 'queued' } });
  journal.settle(call('over'), 'found');
  const ended = { state: 'finished', outcome: 'tool_timeout' };
  await expect.poll(() => send(rosa, { op: 'status', request_id: 'over' })).toMatchObject({ data: ended });
  const { data } = (await send(rosa, { op: 'own_calls' })) as { data: { calls: object[] } };
  expect(data.calls).toContainEqual(expect.objectContaining({ request_id: 'over', ...ended }));
});
