import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TaskNotFoundError } from '@a2a-js/sdk/errors';
import { connectBroker } from '@signalbox/client';
import { listDeadLetters, readHistory } from '@signalbox/client/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { a2aClient, answerOf, message, send, sending } from '../support/a2a/a2a-client.ts';
import { type A2aStage, type Served, startA2aStage } from '../support/a2a/a2a-stage.ts';
import { ask } from '../support/http/ask.ts';

let stage: A2aStage;
let rosa: Served;
let url: string;

beforeAll(async () => {
  stage = await startA2aStage();
  rosa = await stage.serve('rosa');
  url = stage.ready.a2a.agents.rosa!;
});
afterAll(async () => {
  await rosa?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

/** Sends a request to the bridge. */
async function raw(path: string, headers: Record<string, string> = {}, body?: string) {
  const port = Number(new URL(stage.ready.a2a.origin).port);
  const method = body === undefined ? 'GET' : 'POST';
  const answer = await ask({ port }, path, { method, headers, ...(body !== undefined && { body }) });
  return { status: answer.status, json: JSON.parse(answer.body || 'null') };
}

async function threadOf(id: string): Promise<string | undefined> {
  const { messages } = await stage.asOperator((operator) => readHistory(operator, { since: 0, limit: 1000 }));
  return messages.find((one) => one.id === id)?.thread;
}

test('Neither the name of a thread nor that of another tenant leads to a context or a task of a caller.', async () => {
  const [victim, thief] = await Promise.all(
    ['victim', 'thief'].map(async (name) => await a2aClient(url, await stage.token(name))),
  );
  const sent = message('my secret', { contextId: 'mine' });
  const task = await send(victim!, sent);
  const thread = (await threadOf(task.id))!;
  for (const contextId of ['mine', thread, task.id]) {
    const stolen = await send(thief!, message('go on', { contextId, messageId: `m-${contextId}` }));
    expect(await threadOf(stolen.id), contextId).not.toBe(thread);
  }
  const repeated = await send(thief!, sent);
  expect(repeated.id).not.toBe(task.id);
  const elsewhere = await victim!.sendMessage({ ...sending(sent), tenant: 'branch' });
  expect(elsewhere).not.toMatchObject({ id: task.id });
  await expect(victim!.getTask({ id: task.id, tenant: 'branch' })).rejects.toThrow(TaskNotFoundError);
  expect(await victim!.getTask({ id: task.id, tenant: '' })).toEqual(task);
});

test('An agent within can neither answer for another one nor write to a caller.', async () => {
  const client = await a2aClient(url, await stage.token('asker'));
  const task = await send(client, message('wait for the answer'), { returnImmediately: true });
  await using ria = await connectBroker({
    url: stage.ready.broker.url,
    token: await stage.token('ria', 'sender'),
    agent: 'ria',
  });
  const forged = { to: 'asker', correlationId: task.id, body: 'forged' };
  await expect(ria.deliver({ ...forged, kind: 'reply' })).rejects.toMatchObject({ code: 'forbidden' });
  await expect(ria.deliver({ ...forged, kind: 'undeliverable' })).rejects.toMatchObject({
    code: 'forbidden',
  });
  const note = await ria.deliver({ ...forged, kind: 'note' });
  await expect
    .poll(() =>
      stage.asOperator(async (operator) => (await listDeadLetters(operator, { limit: 10 })).messages),
    )
    .toMatchObject([{ id: note.id }]);
  await rosa.release();
  await expect
    .poll(async () => answerOf(await client.getTask({ id: task.id, tenant: '' })))
    .toBe('heard: wait for the answer');
});

test('What a part names is not fetched.', async () => {
  let hits = 0;
  await using opened = new AsyncDisposableStack();
  const server = createServer((_, response) => {
    hits++;
    response.end('inside');
  }).listen(0, '127.0.0.1');
  opened.defer(() => void server.close());
  await once(server, 'listening');
  const place = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret`;
  const client = await a2aClient(url, await stage.token('linker'));
  const part = { filename: '', mediaType: 'text/plain', metadata: undefined };
  const link = { ...part, content: { $case: 'url' as const, value: place } };
  expect(answerOf(await send(client, message(place, { parts: [link] })))).toContain(place);
  expect(hits).toBe(0);
});

test('Pages of other origins and names that were rebound are refused, the same requests of others are not.', async () => {
  const card = '/a2a/rosa/.well-known/agent-card.json';
  expect((await raw(card)).status).toBe(200);
  expect((await raw(card, { host: 'evil.example' })).status).toBe(403);
  expect((await raw(card, { origin: 'http://evil.example' })).status).toBe(403);
  expect((await raw(card, { host: 'localhost', origin: 'http://localhost' })).status).toBe(200);
});

test('Other paths and names all lead to nothing.', async () => {
  const authorization = `Bearer ${await stage.token('walker')}`;
  const paths = [
    '/',
    '/mcp',
    '/a2a',
    '/a2a/',
    '/a2a/walt',
    '/a2a/__proto__',
    '/a2a/%2e%2e/state',
    '/a2a/%ff',
  ];
  const below = ['/a2a/rosa/v1/card/x', '/a2a/rosa/tasks/a/b', '/a2a/constructor/tasks'];
  for (const path of [...paths, ...below])
    expect(await raw(path, { authorization, 'a2a-version': '1.0' }), path).toMatchObject({
      status: 404,
      json: { error: { message: 'nothing is here' } },
    });
});

test('Requests that make no sense get an error in JSON, and the next one is served.', async () => {
  const token = await stage.token('fool');
  const head = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'a2a-version': '1.0',
  };
  const call = (params: unknown, method = 'SendMessage') =>
    JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
  const good = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] };
  const wrong = [
    ['{', -32700],
    ['[]', -32600],
    [`${'['.repeat(300)}${']'.repeat(300)}`, -32700],
    ['"text"', -32602],
    [call({}), -32602],
    [call({ message: 5 }), -32602],
    [call({ message: { ...good, messageId: '' } }), -32602],
    [call({ message: { ...good, parts: [] } }), -32602],
    [call({ message: { ...good, parts: [{}] } }), -32602],
    [call({ message: { ...good, role: 'ROLE_AGENT' } }), -32602],
    [call({ message: { ...good, contextId: 'c'.repeat(300) } }), -32602],
    [call({ message: { ...good, taskId: 'none' } }), -32001],
    [call({ tenant: 't'.repeat(300), message: good }), -32602],
    [call({ message: good, configuration: { taskPushNotificationConfig: { url: 'http://x' } } }), -32003],
    [call({}, 'GetExtendedAgentCard'), -32007],
    [call({ pageSize: 1000 }, 'ListTasks'), -32602],
    [call({ pageToken: 'forged' }, 'ListTasks'), -32602],
    [call({ id: "' OR 1=1" }, 'GetTask'), -32001],
    [call({}, 'Nothing'), -32601],
  ] as const;
  for (const [body, code] of wrong)
    expect((await raw('/a2a/rosa', head, body)).json, body.slice(0, 100)).toMatchObject({ error: { code } });
  expect(
    (await raw('/a2a/rosa', { ...head, 'a2a-version': '7.0' }, call({ message: good }))).json,
  ).toMatchObject({
    error: { code: -32009 },
  });
  expect((await raw('/a2a/rosa', { ...head, 'content-type': 'text/plain' }, '{}')).status).toBe(415);
  const served = await raw('/a2a/rosa', head, call({ message: good }));
  expect(served.json).toMatchObject({
    id: 7,
    result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
  });
});
