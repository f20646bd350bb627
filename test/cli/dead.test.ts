import { connectBroker } from '@signalbox/client';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { giveUp, listed } from '../support/cli/dead.ts';

test('Retry puts messages back into their inbox, drop ends them, and a number that is none is said and exits 1.', async () => {
  await using broker = await startTestBroker();
  await giveUp(broker, 'walt', ['one', 'two', 'three']);
  const at = ['--data', broker.dataDir, '--json'];
  const [one, two, three] = (await listed(broker)).messages.map(({ seq }) => seq);
  const retried = await signalbox(['dead', 'retry', String(one), '999999', ...at]);
  expect(retried.code).toBe(1);
  expect(jsonOf(retried)).toEqual({ retried: [one], unknown: [999_999] });
  const waiting = await signalbox(['inbox', '--agent', 'operator', ...at]);
  expect(waiting.code).toBe(0);
  const dropped = await signalbox(['dead', 'drop', String(two), ...at]);
  expect(dropped.code).toBe(0);
  expect(jsonOf(dropped)).toEqual({ dropped: [two], unknown: [] });
  expect((await listed(broker)).messages.map(({ seq }) => seq)).toEqual([three]);

  const walt = await connectBroker({ url: broker.url, token: await broker.token('walt'), agent: 'walt' });
  await using _walt = walt;
  expect(await walt.peek()).toMatchObject([{ kind: 'task', body: '"one"' }]);
  const gone = await signalbox(['dead', 'show', String(two), ...at]);
  expect(gone.code).toBe(2);
  expect(jsonOf(gone)).toMatchObject({ error: { message: expect.stringContaining(String(two)) } });
});

test('An agent may not look at dead letters.', async () => {
  await using broker = await startTestBroker();
  const env = { SIGNALBOX_TOKEN: await broker.token('walt'), SIGNALBOX_URL: broker.url };
  const run = await signalbox(['dead', 'list', '--json'], { env });
  expect(run.code).toBe(77);
  expect(jsonOf(run)).toMatchObject({ error: { code: 'forbidden' } });
});
