import { type BrokerClient, connectBroker } from '@signalbox/client';
import { startBrokerProcess, startTestBroker, tempDir } from '@signalbox/testing';
import { processTokens, type RunEvent } from '@signalbox/worker/internal';
import { expect, test, vi } from 'vitest';

const killed = { code: null, signal: 'SIGKILL' } as const;
const patient = { interval: 25, timeout: 10_000 };

/** Tokens that an operator issues for the processes of an agent whose parent is `boss`, and what is reported of them. */
function tokensOf(operator: BrokerClient) {
  const events: RunEvent[] = [];
  const onEvent = (event: RunEvent) => events.push(event);
  const issue = processTokens(operator, { role: 'worker', parent: 'boss', onEvent, answerTimeoutMs: 100 });
  return { issue, events };
}

/** Reads the messages of an agent as one process. */
async function read(url: string, token: string) {
  const client = await connectBroker({ url, token, agent: 'ann' });
  const { messages } = await client.subscribe({ consumerId: 'one-process' });
  for await (const message of messages) {
    client.working([message.seq!]);
    await client.peek();
    return { client, message };
  }
  throw new Error('no message came');
}

test('A process that ends while its broker gives no answer has its try counted when the broker is back, before the next one begins.', async () => {
  await using directory = await tempDir();
  await using broker = await startBrokerProcess(`${directory.path}/data`);
  const { url, pid } = broker;
  const connect = async (agent: string, token: string) => connectBroker({ url, token, agent });
  await using operator = await connect('operator#desk', await broker.operatorToken());
  const { token: bossToken } = await operator.admin('token_issue', { agent: 'boss', role: 'worker' });
  await using boss = await connect('boss', bossToken);
  const { issue, events } = tokensOf(operator);

  const first = await issue('ann');
  await boss.deliver({ to: 'ann', kind: 'task', id: 'task' });
  const before = await read(url, first.text);
  process.kill(pid, 'SIGSTOP');
  try {
    expect(await first.retire(killed)).toEqual({ told: false, revoked: false, heldIds: [] });
    expect(events).toMatchObject([
      { code: 'token_not_revoked', message: expect.stringContaining('token revoke') },
    ]);
    await expect(issue('ann')).rejects.toMatchObject({ code: 'unreachable', retryable: true });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  const second = await vi.waitFor(() => issue('ann'), patient);
  expect(events.slice(1)).toEqual([{ event: 'exit_reported', agent: 'ann', told: true, heldIds: ['task'] }]);
  await before.client.closed;
  await using after = (await read(url, second.text)).client;
  expect((await after.peek())[0]).toMatchObject({ id: 'task', attempt: 2 });
  await expect(connect('ann', first.text)).rejects.toMatchObject({ code: 'unauthorized' });
});

test('After a broker was restarted, it is told of the processes that ended meanwhile, and their tokens are no longer good.', async () => {
  await using broker = await startTestBroker({ durability: 'process' });
  const { url } = broker;
  await using operator = await connectBroker({
    url,
    token: await broker.operatorToken(),
    agent: 'operator#desk',
  });
  await using boss = await connectBroker({ url, token: await broker.token('boss'), agent: 'boss' });
  const { issue, events } = tokensOf(operator);
  const { text, retire } = await issue('ann');
  await broker.broker.stop();
  await retire(killed);
  await broker.restart();
  await vi.waitFor(
    () => expect(events.at(-1)).toMatchObject({ event: 'exit_reported', told: true }),
    patient,
  );
  expect(await boss.peek()).toMatchObject([
    { kind: 'event', body: expect.stringContaining('worker_exited') },
  ]);
  await expect(connectBroker({ url, token: text, agent: 'ann' })).rejects.toMatchObject({
    code: 'unauthorized',
  });
});

test('A supervisor that ends before its broker is back says once how to revoke the token.', async () => {
  await using broker = await startTestBroker({ durability: 'process' });
  const token = await broker.operatorToken();
  const operator = await connectBroker({ url: broker.url, token, agent: 'operator#desk' });
  const { issue, events } = tokensOf(operator);
  const { retire } = await issue('ann');
  await broker.broker.stop();
  await retire(killed);
  await operator.close();
  // The revocation has ended when the next token is refused for another reason.
  await vi.waitFor(() => expect(issue('ann')).rejects.toMatchObject({ code: 'closed' }), patient);
  expect(events).toMatchObject([{ event: 'warning', code: 'token_not_revoked' }]);
});
