import { connectBroker } from '@signalbox/client';
import { connectWire, startTestBroker, type TestBroker, type WireFrame } from '@signalbox/testing';
import { expect, it } from 'vitest';

/** Says hello and returns the broker's answer. The connection stays open until `opened` is disposed. */
async function hello(
  broker: TestBroker,
  opened: AsyncDisposableStack,
  agent: string,
  token: string,
): Promise<WireFrame> {
  const wire = opened.use(await connectWire(broker.url));
  wire.send({ type: 'hello', agent, token, protocol: 1 });
  return wire.next(['welcome', 'error']);
}

it('An agent has so many connections over all its tokens, and the others have theirs.', async () => {
  await using broker = await startTestBroker({
    limits: { connections: { perAgent: 3 } },
    roleLimits: { tester: { connections: { perAgent: 1 } } },
  });
  await using opened = new AsyncDisposableStack();
  const tokens = [await broker.token('rosa'), await broker.token('rosa')];
  for (const [i, token] of [tokens[0]!, tokens[0]!, tokens[1]!].entries()) {
    expect(await hello(broker, opened, `rosa#${i}`, token)).toMatchObject({ type: 'welcome' });
  }
  const refused = {
    type: 'error',
    code: 'too_many_connections',
    message:
      "'rosa' has all its places: 3 connections for role 'worker'; close some, or raise broker.limits.connections.perAgent",
    retryable: true,
    retry_after_ms: 1000,
  };
  const late = await connectWire(broker.url);
  late.send({ type: 'hello', agent: 'rosa#late', token: tokens[1], protocol: 1 });
  expect(await late.next('error')).toEqual(refused);
  expect((await late.closed).code).toBe(4430);

  expect(await hello(broker, opened, 'kim', await broker.token('kim'))).toMatchObject({ type: 'welcome' });
  const tester = await broker.token('tess', 'tester');
  expect(await hello(broker, opened, 'tess', tester)).toMatchObject({ type: 'welcome' });
  expect(await hello(broker, opened, 'tess', tester)).toMatchObject({
    message: expect.stringContaining('raise roles.tester.limits.connections.perAgent'),
  });
});

it('A connection that ends makes room for the next one of its agent.', async () => {
  await using broker = await startTestBroker({ limits: { connections: { perAgent: 1 } } });
  await using opened = new AsyncDisposableStack();
  const token = await broker.token('rosa');
  const first = await connectWire(broker.url, { agent: 'rosa', token });
  await first[Symbol.asyncDispose]();
  await using operator = await connectWire(broker.url, {
    agent: 'operator',
    token: await broker.operatorToken(),
  });
  const isGone = async (): Promise<boolean> => {
    operator.send({ type: 'list_connected', request_id: 'l' });
    return !JSON.stringify(await operator.next('connected')).includes('rosa');
  };
  while (!(await isGone()));
  expect(await hello(broker, opened, 'rosa', token)).toMatchObject({ type: 'welcome' });
});

it('A worker that takes every place leaves those of operators and orchestrators, and is told that the broker is full.', async () => {
  await using broker = await startTestBroker({
    limits: { connections: { total: 6, reserved: 2, perAgent: 100 } },
  });
  await using opened = new AsyncDisposableStack();
  const token = await broker.token('greedy');
  for (let i = 0; i < 4; i++) {
    expect(await hello(broker, opened, `greedy#${i}`, token)).toMatchObject({ type: 'welcome' });
  }
  expect(await hello(broker, opened, 'greedy#late', token)).toMatchObject({
    code: 'too_many_connections',
    message:
      'the broker is full: 6 connections, 2 of them kept for operators and orchestrators; close some, or raise broker.limits.connections.total',
  });
  const operator = await broker.operatorToken();
  expect(await hello(broker, opened, 'operator', operator)).toMatchObject({ type: 'welcome' });
  const orchestrator = await broker.token('orchestrator', 'orchestrator');
  expect(await hello(broker, opened, 'orchestrator', orchestrator)).toMatchObject({ type: 'welcome' });
  expect(await hello(broker, opened, 'operator#2', operator)).toMatchObject({
    message: 'the broker is full: 6 connections; close some, or raise broker.limits.connections.total',
  });
});

it('The agents of one minting token share their places.', async () => {
  await using broker = await startTestBroker({ limits: { connections: { perMinter: 2 } } });
  await using opened = new AsyncDisposableStack();
  await using minter = await connectWire(broker.url, {
    agent: 'ci-minter',
    token: await broker.token('ci-*', 'tester'),
  });
  const answers: unknown[] = [];
  for (const agent of ['ci-1', 'ci-2', 'ci-3']) {
    minter.send({ type: 'admin', request_id: agent, op: 'token_issue', params: { agent, role: 'tester' } });
    const { result } = await minter.next('admin_result', { request_id: agent });
    const answer = await hello(broker, opened, agent, (result as { token: string }).token);
    answers.push(answer.type === 'error' ? answer.message : answer.type);
  }
  expect(answers).toEqual([
    'welcome',
    'welcome',
    expect.stringContaining(
      "2 connections for role 'tester'; close some, or raise broker.limits.connections.perMinter",
    ),
  ]);
});

it('A client is told that the broker is full, and not that it is unreachable.', async () => {
  await using broker = await startTestBroker({ limits: { connections: { total: 1, reserved: 1 } } });
  const refused = connectBroker({ url: broker.url, agent: 'rosa', token: await broker.token('rosa') });
  await expect(refused).rejects.toMatchObject({
    code: 'too_many_connections',
    message: expect.stringContaining('the broker is full: 1 connections'),
  });
});
