import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { TaskState } from '@a2a-js/sdk';
import { connectBroker } from '@signalbox/client';
import { runA2a } from '@signalbox/daemon/a2a';
import { loadConfig } from '@signalbox/daemon/config';
import { startTestBroker, tempDir, testAuthority } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { a2aClient, answerOf, escapedPost, message, send, sending } from '../support/a2a/a2a-client.ts';
import { type A2aStage, type Served, startA2aStage } from '../support/a2a/a2a-stage.ts';
import { cleanEnv, type Daemon, signalbox, signalboxArgv, startDaemon } from '../support/cli/command-line.ts';

/** Kills a child of `up` the hard way, and waits until another one has its place. */
async function killPart(stage: A2aStage, part: 'broker' | 'a2a'): Promise<void> {
  const before = stage.up.stderr().split(`the ${part} is back`).length;
  process.kill(await stage.pidOf(part), 'SIGKILL');
  await expect.poll(() => stage.up.stderr().split(`the ${part} is back`).length).toBeGreaterThan(before);
}

test.each(['broker', 'a2a', 'the serving agent'] as const)(
  'kill -9 of %s in mid-task loses and doubles nothing, and GetTask and SubscribeToTask go on.',
  async (part) => {
    await using stage = await startA2aStage();
    let rosa: Served = await stage.serve('rosa');
    const url = stage.ready.a2a.agents.rosa!;
    const token = await stage.token('caller');
    const client = await a2aClient(url, token);
    const sent = message('wait for the kill', { contextId: 'c' });
    const task = await send(client, sent, { returnImmediately: true });
    await expect.poll(() => rosa.runs()).toEqual(['wait for the kill']);
    if (part === 'the serving agent') {
      await rosa[Symbol.asyncDispose]();
      rosa = await stage.serve('rosa');
      // The killed turn is one try; the message comes again.
      await expect.poll(() => rosa.runs(), { timeout: 60_000 }).toHaveLength(2);
    } else await killPart(stage, part);

    const events = client.resubscribeTask({ id: task.id, tenant: '' });
    const states: TaskState[] = [];
    const followed = (async () => {
      for await (const { payload } of events)
        if (payload?.$case === 'task' || payload?.$case === 'statusUpdate')
          states.push(payload.value.status!.state);
    })();
    await expect.poll(() => states).toEqual([TaskState.TASK_STATE_WORKING]);
    const again = send(client, sent);
    await rosa.release();
    await followed;
    expect(states.at(-1)).toBe(TaskState.TASK_STATE_COMPLETED);
    const ended = await client.getTask({ id: task.id, tenant: '' });
    expect(answerOf(ended)).toBe('heard: wait for the kill');
    expect(await again).toEqual(ended);
    expect(await rosa.runs()).toHaveLength(part === 'the serving agent' ? 2 : 1);
    await rosa[Symbol.asyncDispose]();
  },
);

test('A task that ends while the bridge is away and its caller stays away is there when both come back.', async () => {
  await using stage = await startA2aStage();
  await using rosa = await stage.serve('rosa');
  const url = stage.ready.a2a.agents.rosa!;
  const token = await stage.token('caller');
  const client = await a2aClient(url, token);
  const sent = message('wait alone');
  const task = await send(client, sent, { returnImmediately: true });
  await expect.poll(() => rosa.runs()).toEqual(['wait alone']);
  // A stopped bridge acks nothing.
  process.kill(await stage.pidOf('a2a'), 'SIGSTOP');
  await rosa.release();
  await expect
    .poll(() => rosa.run.events().filter(({ event }) => event === 'turn_ended'))
    .toMatchObject([{ outcome: 'answered' }]);
  await killPart(stage, 'a2a');
  // Nobody has shown the new bridge the token until now: the answer waits in the caller's inbox.
  expect(answerOf(await send(client, sent))).toBe('heard: wait alone');
  expect((await client.getTask({ id: task.id, tenant: '' })).status?.state).toBe(
    TaskState.TASK_STATE_COMPLETED,
  );
  expect(await rosa.runs()).toEqual(['wait alone']);
});

/** Starts a bridge that dies at a point, or one that does not. */
async function startBridge(
  stage: A2aStage,
  fault?: string,
  changes?: object,
): Promise<Daemon & { url: string }> {
  const bridge = await stage.bridge(fault === undefined ? {} : { SIGNALBOX_FAULT: fault }, changes);
  const { agents } = bridge.ready as { agents: Record<string, string> };
  return Object.assign(bridge, { url: agents.rosa! });
}

test.each(['a2a.task.stored', 'a2a.task.asked', 'a2a.answer.stored'])(
  'A message whose bridge dies at %s is asked once.',
  async (point) => {
    await using stage = await startA2aStage({ isAlone: true });
    await using rosa = await stage.serve('rosa');
    const token = await stage.token('caller');
    const sent = message('once');
    {
      await using dying = await startBridge(stage, point);
      const client = await a2aClient(dying.url, token);
      // An answer that is not on the disk yet may reach its caller: it waits at the broker, too.
      const answer = await send(client, sent).then(answerOf, () => undefined);
      expect([undefined, ...(point === 'a2a.answer.stored' ? ['heard: once'] : [])]).toContain(answer);
      await dying.ended;
    }
    await using bridge = await startBridge(stage);
    const client = await a2aClient(bridge.url, token);
    expect(answerOf(await send(client, sent))).toBe('heard: once');
    expect(await rosa.runs()).toEqual(['once']);
  },
);

test('A bridge that dies between the withdrawal and its note cancels when it is asked again.', async () => {
  await using stage = await startA2aStage({ isAlone: true });
  await using rosa = await stage.serve('rosa');
  const token = await stage.token('caller');
  const sent = message('wait for ever');
  {
    await using dying = await startBridge(stage, 'a2a.task.withdrawn');
    const client = await a2aClient(dying.url, token);
    const { id } = await send(client, sent, { returnImmediately: true });
    await expect.poll(() => rosa.runs()).toHaveLength(1);
    await expect(client.cancelTask({ id, tenant: '', metadata: undefined })).rejects.toThrow();
    await dying.ended;
  }
  await using bridge = await startBridge(stage);
  const client = await a2aClient(bridge.url, token);
  const { id } = await send(client, sent, { returnImmediately: true });
  const ended = await client.cancelTask({ id, tenant: '', metadata: undefined });
  expect(ended.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
  expect(await rosa.runs()).toHaveLength(1);
});

test('A message whose answer waits is not asked again, even where nobody would know it.', async () => {
  await using stage = await startA2aStage({ isAlone: true });
  await using rosa = await stage.serve('rosa');
  await using ria = await stage.serve('ria');
  const token = await stage.token('caller');
  const sent = message('once');
  {
    await using dying = await startBridge(stage, 'a2a.task.asked');
    const client = await a2aClient(dying.url, token);
    await expect(send(client, sent)).rejects.toThrow();
    await dying.ended;
  }
  await expect
    .poll(() => rosa.run.events().filter(({ event }) => event === 'turn_ended'))
    .toMatchObject([{ outcome: 'answered' }]);
  // Ria's inbox has never had the message, as rosa's would have forgotten it after a time.
  const agents = { rosa: { to: 'ria', description: 'another one' } };
  await using bridge = await startBridge(stage, undefined, { agents });
  const client = await a2aClient(bridge.url, token);
  expect(answerOf(await send(client, sent))).toBe('heard: once');
  expect(await rosa.runs()).toEqual(['once']);
  expect(answerOf(await send(client, message('twice')))).toBe('heard: twice');
  expect(await ria.runs()).toEqual(['twice']);
});

test('A message that the killed bridge had not sent is sent by the next one, when its caller comes back.', async () => {
  await using stage = await startA2aStage();
  const client = await a2aClient(stage.ready.a2a.agents.rosa!, await stage.token('caller'));
  await using rosa = await stage.serve('rosa');
  await send(client, message('first'));
  // The broker takes nothing: the row is there, and the receipt does not come.
  const broker = await stage.pidOf('broker');
  process.kill(broker, 'SIGSTOP');
  const task = await send(client, message('second'), { returnImmediately: true });
  expect(task.status?.state).toBe(TaskState.TASK_STATE_SUBMITTED);
  process.kill(await stage.pidOf('a2a'), 'SIGKILL');
  process.kill(broker, 'SIGCONT');
  await expect
    .poll(async () => await client.getTask({ id: task.id, tenant: '' }).catch(() => undefined))
    .toMatchObject({ status: { state: TaskState.TASK_STATE_COMPLETED } });
  expect(await rosa.runs()).toEqual(['first', 'second']);
});

test('A deadline, a failing agent and a bridge that kept its tasks for its time are told as they are.', async () => {
  await using stage = await startA2aStage({ a2a: { deadline: '3s', keep: '2s' } });
  const token = await stage.token('caller');
  const client = await a2aClient(stage.ready.a2a.agents.rosa!, token);
  // The broker knows rosa from then on.
  await (await stage.serve('rosa'))[Symbol.asyncDispose]();
  const late = await send(client, message('nobody is there'));
  expect(late.status).toMatchObject({
    state: TaskState.TASK_STATE_FAILED,
    message: { parts: [{ content: { value: 'nobody answered before the deadline' } }] },
  });
  await expect
    .poll(async () => await client.getTask({ id: late.id, tenant: '' }).catch((error: Error) => error.name), {
      timeout: 90_000,
    })
    .toBe('TaskNotFoundError');
});

test('The limits of a caller hold for that caller alone.', async () => {
  await using stage = await startA2aStage({
    a2a: { limits: { tasksPerCaller: 2 } },
    more: { worker: { limits: { requestsPerAgent: 3 } } },
  });
  await using rosa = await stage.serve('rosa');
  const url = stage.ready.a2a.agents.rosa!;
  const [greedy, honest] = await Promise.all(
    ['greedy', 'honest'].map(async (name) => await a2aClient(url, await stage.token(name))),
  );
  const sent = [1, 2].map((n) => message(`wait ${n}`));
  for (const one of sent) await send(greedy!, one, { returnImmediately: true });
  await expect(send(greedy!, message('third'))).rejects.toThrow('2 of your tasks are kept here');
  const streams = Array.from({ length: 8 }, (_, n) =>
    (async () => {
      for await (const _event of greedy!.sendMessageStream(sending(sent[n % 2]!)));
    })().catch((error: Error) => error.message),
  );
  expect(answerOf(await send(honest!, message('one')))).toBe('heard: one');
  await rosa.release();
  const ends = await Promise.all(streams);
  expect(ends.filter((end) => end !== undefined).length).toBe(5);
  expect(ends.find((end) => end !== undefined)).toContain('3 requests under way');
});

test('A message of 4 MiB passes, also if JSON escapes all of it, and one of more gets an error in JSON.', async () => {
  await using stage = await startA2aStage();
  await using _rosa = await stage.serve('rosa');
  const post = await escapedPost(stage.ready.a2a.agents.rosa!, await stage.token('talker'));
  const bytes = 4 * 1024 * 1024;
  const fits = `length${'x'.repeat(bytes - 2 - 'length'.length)}`;
  expect(await post(fits)).toMatchObject({ result: { task: { artifacts: [{ artifactId: 'answer' }] } } });
  expect(await post(`${fits}y`)).toMatchObject({ error: { code: -32602 } });
});

test('A cancel that races with the answer has one end, which stays.', async () => {
  await using stage = await startA2aStage();
  const client = await a2aClient(stage.ready.a2a.agents.rosa!, await stage.token('caller'));
  await using rosa = await connectBroker({
    url: stage.ready.broker.url,
    token: await stage.token('rosa', 'crew'),
    agent: 'rosa',
  });
  // She answers after some milliseconds, whether anybody still waits or not.
  await using _loop = await rosa.serve(['ask'], async ({ json }) => {
    await new Promise((resolve) => setTimeout(resolve, Number(json)));
    return { kind: 'reply', body: `after ${json}` };
  });
  const ends = new Set<string>();
  for (let n = 0; n < 60; n++) {
    const task = await send(client, message(String(n % 12)), { returnImmediately: true });
    const canceled = await client
      .cancelTask({ id: task.id, tenant: '', metadata: undefined })
      .then(({ status }) => TaskState[status!.state])
      .catch((error: Error) => error.name);
    const ended = await client.getTask({ id: task.id, tenant: '' });
    const state = TaskState[ended.status!.state]!;
    expect([canceled, state]).toEqual(
      state === 'TASK_STATE_CANCELED' ? [state, state] : ['TaskNotCancelableError', 'TASK_STATE_COMPLETED'],
    );
    ends.add(`${state} ${task.id}`);
  }
  // The late answers have come by now.
  await send(client, message('50'));
  for (const end of ends) {
    const [state, id] = end.split(' ');
    expect(TaskState[(await client.getTask({ id: id!, tenant: '' })).status!.state]).toBe(state);
  }
  expect([...ends].filter((end) => end.startsWith('TASK_STATE_CANCELED')).length).toBeGreaterThan(0);
});

test('A group is asked as an agent is, by callers who reconnect with another token.', async () => {
  await using stage = await startA2aStage();
  await using ria = await stage.serve('ria', ['--group', 'role:crew']);
  const url = stage.ready.a2a.agents.crew!;
  const first = await a2aClient(url, await stage.token('caller'));
  const second = await a2aClient(url, await stage.token('caller'));
  const sent = message('for one of you');
  const task = await send(first, sent);
  expect(answerOf(task)).toBe('heard: for one of you');
  expect(await send(second, sent)).toEqual(task);
  const waiting = await send(second, message('wait for both'), { returnImmediately: true });
  const ended = send(first, message('another'));
  expect(answerOf(await ended)).toBe('heard: another');
  await ria.release();
  await expect
    .poll(async () => answerOf(await first.getTask({ id: waiting.id, tenant: '' })))
    .toBe('heard: wait for both');
});

test('With a certificate the bridge speaks https under the name that clients use, and refuses an open address without one.', async () => {
  const { ca, issue } = await testAuthority();
  const pair = await issue({ names: ['agents.example', 'localhost'] });
  await using stage = await startA2aStage({ isAlone: true });
  await using _rosa = await stage.serve('rosa');
  for (const [name, pem] of Object.entries({ 'a2a.pem': pair.cert, 'a2a.key': pair.key }))
    await writeFile(join(stage.directory, name), pem, { mode: 0o600 });
  const open = { listen: '0.0.0.0:0' };
  await expect(stage.bridge({}, open)).rejects.toThrow(/"insecure_listen".*a2a\.tls/);
  const tls = { cert: 'a2a.pem', key: 'a2a.key' };
  await using bridge = await stage.bridge({}, { ...open, tls, url: 'https://agents.example' });
  const { origin, agents } = bridge.ready as { origin: string; agents: Record<string, string> };
  expect(agents.rosa).toBe('https://agents.example/a2a/rosa');
  const token = await stage.token('caller');
  const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'over tls' }] } };
  const asked = request({
    ...{ host: '127.0.0.1', port: new URL(origin).port, servername: 'agents.example', ca },
    ...{ path: '/a2a/rosa', method: 'POST' },
    headers: {
      ...{ host: 'agents.example', authorization: `Bearer ${token}` },
      ...{ 'content-type': 'application/json', 'a2a-version': '1.0' },
    },
  });
  asked.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }));
  const [response] = await once(asked, 'response');
  expect(await text(response)).toContain('heard: over tls');
});

test('A bridge without a broker is not ready, and is when the broker comes.', async () => {
  await using stage = await startA2aStage({ isAlone: true });
  const { url } = stage.ready.broker;
  await stage.up.stop();
  const config = join(stage.directory, 'a2a.json');
  await writeFile(config, JSON.stringify(stage.configuration));
  const socket = join(stage.directory, 'state', 'broker.sock');
  const child = spawn(
    process.execPath,
    signalboxArgv(['a2a', 'serve', '--config', config, '--url', `${url},unix:${socket}`, '--json']),
    { cwd: stage.directory, env: cleanEnv(), stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = once(child, 'close');
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      said[name] += chunk;
    });
  await expect.poll(() => said.stderr).toContain('no broker answers yet');
  expect(said.stdout).toBe('');
  await using _up = await startDaemon(['up', '--config', 'signalbox.yaml', '--no-face'], {
    cwd: stage.directory,
  });
  await expect.poll(() => said.stdout).toContain('"origin"');
  child.kill('SIGTERM');
  expect((await ended)[0]).toBe(0);
});

test('A bridge that was down for 15 minutes, while its caller stayed away, has the answer then.', async () => {
  let at = Date.now();
  const now = () => at;
  await using folder = await tempDir();
  await using broker = await startTestBroker({ now });
  const sections = {
    roles: ['outside'],
    listen: '127.0.0.1:0',
    agents: { rosa: { description: 'answers' } },
  };
  const file = join(folder.path, 'signalbox.yaml');
  await writeFile(file, JSON.stringify({ roles: { outside: { tools: [] } }, a2a: sections }));
  const config = await loadConfig(file);
  const begin = () =>
    runA2a({
      ...{ config: { ...config, a2a: config.a2a! }, dataDir: folder.path, connect: { url: broker.url } },
      ...{ insecure: false, version: '1', log: () => {}, now },
    });
  const gate = Promise.withResolvers<void>();
  const asked: unknown[] = [];
  await using rosa = await connectBroker({
    url: broker.url,
    token: await broker.token('rosa'),
    agent: 'rosa',
  });
  await using loop = await rosa.serve(['ask'], async ({ json }) => {
    asked.push(json);
    await gate.promise;
    return { kind: 'reply', body: 'late' };
  });
  const token = await broker.token('caller', 'outside');
  const sent = message('hello');
  const bridge = await begin();
  await send(await a2aClient(bridge.urls.rosa!, token), sent, { returnImmediately: true });
  await expect.poll(() => asked).toHaveLength(1);
  await bridge[Symbol.asyncDispose]();
  gate.resolve();
  await expect.poll(() => loop.inFlight).toBe(0);
  at += 15 * 60_000;
  // Whatever the broker forgets, it forgets at the latest when it is started again.
  await broker.restart();
  await using again = await begin();
  const client = await a2aClient(again.urls.rosa!, token);
  expect(answerOf(await send(client, sent))).toBe('late');
  expect(asked).toHaveLength(1);
});

test('A backup that is made while everything runs has the tasks: after a restore an ended one can be read, and an open one is answered, once.', async () => {
  await using stage = await startA2aStage();
  const token = await stage.token('caller');
  const client = await a2aClient(stage.ready.a2a.agents.rosa!, token);
  const first = await stage.serve('rosa');
  const ended = await send(client, message('before the backup', { contextId: 'c' }));
  expect(answerOf(ended)).toBe('heard: before the backup');
  await first[Symbol.asyncDispose]();
  const open = message('open at the backup', { contextId: 'c' });
  const { id } = await send(client, open, { returnImmediately: true });
  const command = (...args: string[]) => signalbox(args, { cwd: stage.directory });
  const made = await command('backup', 'copy');
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ {2}a2a\.db +\d+$/m) });
  expect((await command('backup', 'verify', 'copy')).stdout).toMatch(/^ {2}2 tasks of A2A clients$/m);
  await stage.up[Symbol.asyncDispose]();
  await rename(join(stage.directory, 'state'), join(stage.directory, 'lost'));
  const restored = await command('restore', 'copy', '--data', 'state');
  expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining('2 tasks of A2A clients') });
  await using up = await startDaemon(['up', '--config', 'signalbox.yaml', '--no-face'], {
    cwd: stage.directory,
  });
  const { a2a } = up.ready as A2aStage['ready'];
  const again = await a2aClient(a2a.agents.rosa!, token);
  expect(await again.getTask({ id: ended.id, tenant: '' })).toEqual(ended);
  await using rosa = await stage.serve('rosa');
  expect(answerOf(await send(again, open))).toBe('heard: open at the backup');
  expect((await again.getTask({ id, tenant: '' })).status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  expect(await rosa.runs()).toEqual(['before the backup', 'open at the backup']);
});
