import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { beginBackup, finishBackup } from '@signalbox/client/operator/internal';
import { restoreBackup } from '@signalbox/daemon/backup';
import { startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { startInterrupted } from '../support/backup/replaced-broker.ts';

test('A restart of the same broker loses nothing: what had no receipt is sent again, and runs once.', async () => {
  await using stack = await startInterrupted();
  await using _again = await stack.startAgain();
  expect(await stack.executed).toMatchObject({ result: { success: true } });
  expect(await stack.note).toMatchObject({ id: 'note', duplicate: true });
  expect(await stack.later).toMatchObject({ id: 'later', duplicate: false });
  expect(await stack.runAnother()).toMatchObject({ result: { success: true } });
  expect([stack.runs('interrupted'), stack.runs('another')]).toEqual([1, 1]);
});

test('A request that was answered after the backup is answered again at the restored broker, and not acked in silence.', async () => {
  await using directory = await tempDir();
  const restored = join(directory.path, 'restored');
  const backup = join(directory.path, 'backup');
  await using broker = await startTestBroker({ durability: 'process' });
  const { port } = broker;
  await using ann = await connectBroker({
    url: broker.url,
    token: await broker.tokenOf('ann'),
    agent: 'ann',
  });
  await using server = await connectBroker({
    url: broker.url,
    token: await broker.tokenOf('server'),
    agent: 'server',
  });
  const mayAnswer = Promise.withResolvers<void>();
  const ran: string[] = [];
  await server.serve(['ask'], async ({ message }) => {
    ran.push(message.id);
    await mayAnswer.promise;
    return { kind: 'reply', body: `answer ${ran.length}` };
  });
  const repliesAt = async ({ url, operatorToken }: TestBroker) => {
    await using operator = await connectBroker({
      url,
      token: await operatorToken(),
      agent: 'operator#peeks',
    });
    return (await operator.peek({ address: 'ann' })).map((message) => [message.correlation_id, message.body]);
  };
  await ann.deliver({ to: 'server', kind: 'ask', id: 'question' });
  await vi.waitFor(() => expect(ran).toEqual(['question']));
  {
    const token = await broker.operatorToken();
    await using operator = await connectBroker({ url: broker.url, token, agent: 'operator#asks' });
    await beginBackup(operator, backup);
    await finishBackup(operator, undefined);
  }
  mayAnswer.resolve();
  await vi.waitFor(async () => expect(await repliesAt(broker)).toEqual([['question', '"answer 1"']]));
  await broker.broker.stop();
  await restoreBackup({ backup, dataDir: restored, revokeTokens: false, now: Date.now() });
  await using again = await startTestBroker({ dataDir: restored, port, durability: 'process' });
  await vi.waitFor(async () => expect(await repliesAt(again)).toEqual([['question', '"answer 2"']]));
  expect(ran).toEqual(['question', 'question']);
});
