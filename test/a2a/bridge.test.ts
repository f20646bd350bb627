import { randomUUID } from 'node:crypto';
import { type StreamResponse, TaskState } from '@a2a-js/sdk';
import {
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import { placeHold, readHistory, releaseHolds } from '@signalbox/client/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { a2aClient, answerOf, escapedPost, message, send, sending, ways } from '../support/a2a/a2a-client.ts';
import { type A2aStage, type Served, startA2aStage } from '../support/a2a/a2a-stage.ts';
import { signalbox } from '../support/cli/command-line.ts';

let stage: A2aStage;
let rosa: Served;
let url: string;

/** Less than by default: a message of 4 MiB takes its time. */
const messageBytes = 256 * 1024;

beforeAll(async () => {
  const limits = { message: { bytes: messageBytes } };
  stage = await startA2aStage({ more: { broker: { listen: '127.0.0.1:0', data: './state', limits } } });
  rosa = await stage.serve('rosa');
  url = stage.ready.a2a.agents.rosa!;
});
afterAll(async () => {
  await rosa?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

/** Returns the states that a stream tells, and the texts of its artifacts. */
async function followed(events: AsyncIterable<StreamResponse>): Promise<(string | undefined)[]> {
  const told: (string | undefined)[] = [];
  for await (const { payload } of events) {
    if (payload?.$case === 'task') told.push(TaskState[payload.value.status!.state]);
    if (payload?.$case === 'statusUpdate') told.push(TaskState[payload.value.status!.state]);
    if (payload?.$case === 'artifactUpdate') {
      const content = payload.value.artifact?.parts[0]?.content;
      told.push(content?.$case === 'text' ? content.value : undefined);
    }
  }
  return told;
}

const [submitted, working, completed, canceled] = ['SUBMITTED', 'WORKING', 'COMPLETED', 'CANCELED'].map(
  (name) => `TASK_STATE_${name}`,
);

test.each(ways)(
  '$binding, version $version: a task is sent, followed, polled, repeated and canceled.',
  async (way) => {
    const caller = `${way.binding === 'JSONRPC' ? 'rpc' : 'rest'}-${way.version}`;
    const client = await a2aClient(url, await stage.token(caller), way);
    const text = `hello from ${caller}`;
    const sent = message(text, { contextId: 'talk' });
    const task = await send(client, sent);
    expect(answerOf(task)).toBe(`heard: ${text}`);
    expect(task).toMatchObject({ contextId: 'talk', status: { state: TaskState.TASK_STATE_COMPLETED } });

    expect(await send(client, sent)).toEqual(task);
    expect(await client.getTask({ id: task.id, tenant: '' })).toEqual(task);
    expect((await rosa.runs()).filter((one) => one === text)).toHaveLength(1);
    await expect(
      send(client, message('other', { messageId: sent.messageId, contextId: 'talk' })),
    ).rejects.toThrow(RequestMalformedError);

    const streamed = await followed(client.sendMessageStream(sending(message(`streamed ${caller}`))));
    expect(streamed[0]).toBe(submitted);
    expect(streamed.slice(-2)).toEqual([`heard: streamed ${caller}`, completed]);

    const waiting = await send(client, message(`wait ${caller}`), { returnImmediately: true });
    const resumed = followed(client.resubscribeTask({ id: waiting.id, tenant: '' }));
    await expect
      .poll(async () => (await client.getTask({ id: waiting.id, tenant: '' })).status?.state)
      .toBe(TaskState.TASK_STATE_WORKING);
    const other = await a2aClient(url, await stage.token(`other-${caller}`), way);
    const foreign = { id: waiting.id, tenant: '' };
    await expect(other.getTask(foreign)).rejects.toThrow(TaskNotFoundError);
    await expect(followed(other.resubscribeTask(foreign))).rejects.toThrow(TaskNotFoundError);
    await expect(other.cancelTask({ ...foreign, metadata: undefined })).rejects.toThrow(TaskNotFoundError);
    await expect(send(other, message('more', { taskId: waiting.id }))).rejects.toThrow(TaskNotFoundError);
    const ended = await client.cancelTask({ id: waiting.id, tenant: '', metadata: undefined });
    expect(ended.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    expect((await resumed).at(-1)).toBe(canceled);
    await expect(client.cancelTask({ id: waiting.id, tenant: '', metadata: undefined })).rejects.toThrow(
      TaskNotCancelableError,
    );
    await expect(followed(client.resubscribeTask({ id: waiting.id, tenant: '' }))).rejects.toThrow(
      UnsupportedOperationError,
    );
    await expect(client.getTask({ id: 'a2a-unknown', tenant: '' })).rejects.toThrow(TaskNotFoundError);
  },
);

test('A stream tells that the agent has begun.', async () => {
  const client = await a2aClient(url, await stage.token('watcher'));
  const events = followed(client.sendMessageStream(sending(message('wait for the end'))));
  await expect.poll(() => rosa.runs()).toContain('wait for the end');
  await rosa.release();
  expect(await events).toEqual([submitted, working, 'heard: wait for the end', completed]);
});

test('An agent is told which caller asks it, and that the message came from outside; parts are passed on unread.', async () => {
  const client = await a2aClient(url, await stage.token('stranger'));
  const link = {
    content: { $case: 'url' as const, value: 'http://127.0.0.1:9/x' },
    filename: 'x',
    mediaType: '',
    metadata: undefined,
  };
  const header = JSON.parse(answerOf(await send(client, message('header')))!);
  expect(header.messages).toMatchObject([
    { from: 'stranger', from_role: 'outside', from_outside: true, kind: 'ask', body: 'header' },
  ]);
  const linked = answerOf(await send(client, message('header', { parts: [link] })));
  expect(linked).toBe(
    'heard: {"parts":[{"text":"header","mediaType":"text/plain"},{"url":"http://127.0.0.1:9/x","filename":"x"}]}',
  );
});

test('A card tells of the listed agent only, in the shape of the client’s version.', async () => {
  const cardOf = async (name: string, version: string) => {
    const address = `${stage.ready.a2a.origin}/a2a/${name}/.well-known/agent-card.json`;
    const response = await fetch(address, { headers: { 'a2a-version': version } });
    return { status: response.status, card: await response.json() };
  };
  expect(await cardOf('rosa', '1.0')).toMatchObject({
    status: 200,
    card: { name: 'rosa', description: 'answers questions', skills: [{ id: 'talk', tags: ['words'] }] },
  });
  expect(await cardOf('crew', '0.3')).toMatchObject({
    status: 200,
    card: { name: 'The crew', url: stage.ready.a2a.agents.crew, protocolVersion: '0.3' },
  });
  expect(JSON.stringify(await cardOf('rosa', '1.0'))).not.toMatch(/crew|barred/);
  const nothing = await cardOf('walt', '1.0');
  expect(nothing).toMatchObject({ status: 404 });
  expect(await cardOf('operator', '1.0')).toEqual(nothing);
});

test('A context continues a thread, which no other caller reaches, and lists have pages.', async () => {
  const [ann, ben] = await Promise.all(
    ['ann', 'ben'].map(async (name) => await a2aClient(url, await stage.token(name))),
  );
  const tasks = [];
  for (const n of [1, 2, 3]) tasks.push(await send(ann!, message(`part ${n}`, { contextId: 'shared' })));
  const theirs = await send(ben!, message('part 4', { contextId: 'shared' }));
  const { messages } = await stage.asOperator((operator) => readHistory(operator, { since: 0, limit: 100 }));
  const threadOf = (id: string) => messages.find((one) => one.id === id)?.thread;
  expect(new Set(tasks.map(({ id }) => threadOf(id))).size).toBe(1);
  expect(threadOf(theirs.id)).not.toBe(threadOf(tasks[0]!.id));
  expect(threadOf(theirs.id)).toMatch(/^a2a-/);

  const list = { tenant: '', contextId: 'shared', status: 0, statusTimestampAfter: undefined, pageSize: 2 };
  const first = await ann!.listTasks({ ...list, pageToken: '' });
  expect(first).toMatchObject({ totalSize: 3, pageSize: 2 });
  const second = await ann!.listTasks({ ...list, pageToken: first.nextPageToken });
  expect(second.nextPageToken).toBe('');
  expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(tasks.map(({ id }) => id).reverse());

  const own = await ben!.listTasks({ ...list, pageToken: '' });
  expect(own.tasks.map(({ id }) => id)).toEqual([theirs.id]);
});

test('The version stands in the header or in the query, and the number of a patch does not count.', async () => {
  const authorization = `Bearer ${await stage.token('dated')}`;
  const ask = async (path: string, version?: string) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const part = { messageId: randomUUID(), parts: [{ text: 'hi' }], content: [{ text: 'hi' }] };
    const response = await fetch(`${url}/${path}`, {
      method: 'POST',
      headers: version === undefined ? headers : { ...headers, 'a2a-version': version },
      body: JSON.stringify({ message: { ...part, role: 'ROLE_USER' }, configuration: { blocking: true } }),
    });
    return { status: response.status, text: await response.text() };
  };
  const answered = { status: 200, text: expect.stringContaining('heard: hi') };
  expect(await ask('message:send?A2A-Version=1.0')).toMatchObject(answered);
  expect(await ask('message:send', '1.0.3')).toMatchObject(answered);
  expect(await ask('v1/message:send', '0.3.0')).toMatchObject(answered);
  expect(await ask('v1/message:send?A2A-Version=1.0', '0.3')).toMatchObject(answered);
  expect(await ask('message:send?A2A-Version=1.5')).toMatchObject({
    status: 400,
    text: expect.stringContaining("'1.5' is not supported"),
  });
});

test('Holds, refused agents and failures are states and errors of the protocol.', async () => {
  const token = await stage.token('held-one');
  const client = await a2aClient(url, token);
  const hold = await stage.asOperator((operator) =>
    placeHold(operator, { on: 'agent', name: 'held-one', reason: 'a secret reason' }),
  );
  const sent = message('later');
  const refused = await send(client, sent).catch((error: Error) => error.message);
  expect(refused).toContain('an operator holds this caller');
  expect(refused).not.toContain('secret');
  await stage.asOperator((operator) => releaseHolds(operator, { ids: [hold.id] }));
  expect(answerOf(await send(client, sent))).toBe('heard: later');

  const barred = await a2aClient(stage.ready.a2a.agents.barred!, token);
  const rejected = await send(barred, message('let me in'));
  expect(rejected.status).toMatchObject({
    state: TaskState.TASK_STATE_REJECTED,
    message: { parts: [{ content: { value: 'the role of this token may not ask this agent' } }] },
  });
});

test.each([
  ['no token', undefined, 401],
  ['a wrong token', 'sbx_nobody_1', 401],
  ['a token of another role', 'crew', 403],
])('%s: the request is refused before its body is read.', async (_, kind, status) => {
  const token = kind === 'crew' ? await stage.token('walt', 'crew') : kind;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: 'this is no JSON',
  });
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
});

test('The largest message passes, whatever its escaping; a larger one gets an error in JSON.', async () => {
  const post = await escapedPost(url, await stage.token('talker'));
  const fits = `length${'x'.repeat(messageBytes - 2 - 'length'.length)}`;
  expect(await post(fits)).toMatchObject({
    result: { task: { artifacts: [{ parts: [{ text: `heard ${messageBytes - 2} bytes` }] }] } },
  });
  const tooLong = { code: -32602, message: expect.stringContaining(`at most ${messageBytes}`) };
  expect(await post(`${fits}y`)).toMatchObject({ error: tooLong });
});

test('up says where the agents are, and config check what callers may do too much.', async () => {
  const { origin, agents } = stage.ready.a2a;
  expect(agents).toEqual({
    rosa: `${origin}/a2a/rosa`,
    crew: `${origin}/a2a/crew`,
    barred: `${origin}/a2a/barred`,
  });
  const { stdout, stderr } = await signalbox(['config', 'check', '--config', 'signalbox.yaml'], {
    cwd: stage.directory,
  });
  expect(stdout + stderr).toContain(
    "callers from outside with the role 'outside' may write to ria; write roles.outside:",
  );
  const doctor = await signalbox(['doctor', '--config', 'signalbox.yaml'], { cwd: stage.directory });
  expect(doctor.stdout).toMatch(
    /a2a +the database of tasks has [\d.]+ \w+; a2a\.limits\.bytes allows 4\.0 GiB of tasks/,
  );
});
