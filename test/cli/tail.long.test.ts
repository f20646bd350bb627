import { connectBroker } from '@signalbox/client';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';
import { startTail } from '../support/cli/tail.ts';

test('tail of one agent shows its messages also without an orchestrator, and ends with its reader.', async () => {
  await using broker = await startTestBroker();
  await using tail = await startTail(['--agent', 'ann', '--data', broker.dataDir]);
  const connect = async (agent: string) =>
    connectBroker({ url: broker.url, token: await broker.token(agent), agent });
  await using ann = await connect('ann');
  await using bob = await connect('bob');
  await broker.token('orchestrator', 'orchestrator');
  await bob.deliver({ to: 'bob', kind: 'note', id: 'own' });
  await ann.deliver({ to: 'bob', kind: 'note', id: 'n1' });
  await ann.deliver({ to: 'orchestrator', kind: 'mcp_request', id: 'r1', body: { op: 'manifest' } });
  await expect.poll(tail.told).toContain('calls_missing');
  expect(tail.told()).toEqual(['following', 'stored n1', 'stored r1', 'calls_missing']);
  expect(tail.events.at(-1)).toMatchObject({ code: 'no_consumer' });
  tail.stdout.destroy();
  await ann.deliver({ to: 'bob', kind: 'note', id: 'unread' });
  expect(await tail.exited).toEqual([0, null]);
});

test('tail is the operator’s: an agent is refused with exit code 77.', async () => {
  await using broker = await startTestBroker();
  const env = { SIGNALBOX_URL: broker.url, SIGNALBOX_TOKEN: await broker.token('ann') };
  const refused = await signalbox(['tail'], { env });
  expect(refused).toMatchObject({ code: 77, stdout: '' });
  expect(refused.stderr).toContain('this needs a token of an operator');
});
