import { connectBroker } from '@signalbox/client';
import { startTestBroker, type TestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

/** Lets a reader give up what it is sent: one dead letter for each text. */
async function giveUp(broker: TestBroker, reader: string, texts: readonly string[]): Promise<void> {
  const { url } = broker;
  await using sender = await connectBroker({ url, token: await broker.token('rosa'), agent: 'rosa' });
  await using receiver = await connectBroker({ url, token: await broker.token(reader), agent: reader });
  for (const body of texts) await sender.deliver({ to: reader, kind: 'task', body });
  await using subscription = await receiver.subscribe();
  for (const text of texts) {
    const { value } = await subscription.messages.next();
    await receiver.nack([value!.seq!], { dead: true, reason: `cannot do ${text}` });
  }
}

interface Listed {
  messages: { seq: number; inbox: string }[];
  more: boolean;
}

async function listed(broker: TestBroker, ...args: string[]): Promise<Listed> {
  return jsonOf(await signalbox(['dead', 'list', '--data', broker.dataDir, '--json', ...args])) as Listed;
}

test('Messages that were given up are listed with their reason, shown with their body, and neither steers the terminal.', async () => {
  await using broker = await startTestBroker();
  await giveUp(broker, 'walt', ['one', '\x1b[2Jtwo']);
  await giveUp(broker, 'yara', ['three']);
  const all = await listed(broker);
  expect(all).toEqual({
    messages: ['walt', 'walt', 'yara'].map((inbox) =>
      expect.objectContaining({
        inbox,
        seq: expect.any(Number),
        from: { agent: 'rosa', address: 'rosa', role: 'worker' },
        kind: 'task',
        attempts: expect.any(Number),
        dead_at: expect.any(Number),
        reason: expect.stringContaining('cannot do'),
      }),
    ),
    more: false,
  });
  const [first, second] = all.messages;
  expect(await listed(broker, '--inbox', 'yara')).toMatchObject({ messages: [{ inbox: 'yara' }] });
  expect(await listed(broker, '--limit', '1')).toMatchObject({ messages: [{ seq: first!.seq }], more: true });
  expect(await listed(broker, '--limit', '1', '--after', String(first!.seq))).toMatchObject({
    messages: [{ seq: second!.seq }],
  });

  const table = await signalbox(['dead', 'list', '--data', broker.dataDir]);
  expect(table.stdout).toMatch(/^SEQ +INBOX +FROM +KIND +DIED +ATTEMPTS +REASON$/m);
  expect(table.stdout).toContain('cannot do \\x1b[2Jtwo');
  const shown = await signalbox(['dead', 'show', String(second!.seq), '--data', broker.dataDir]);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('\n\n| \\x1b[2Jtwo\n');
  expect(table.stdout + shown.stdout).not.toContain('\x1b');
  const json = await signalbox(['dead', 'show', String(second!.seq), '--data', broker.dataDir, '--json']);
  expect(jsonOf(json)).toMatchObject({ message: { inbox: 'walt', body: '\x1b[2Jtwo' } });
});

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

test('All of an inbox, or all there are, go only when that is said.', async () => {
  await using broker = await startTestBroker();
  await giveUp(broker, 'walt', ['one', 'two']);
  await giveUp(broker, 'yara', ['three', 'four']);
  const at = ['--data', broker.dataDir, '--json'];
  for (const how of ['retry', 'drop']) {
    const nothing = await signalbox(['dead', how, ...at]);
    expect(nothing.code).toBe(2);
    expect(jsonOf(nothing)).toMatchObject({
      error: { code: 'usage', hint: expect.stringContaining('--all') },
    });
  }
  expect((await signalbox(['dead', 'drop', '1', '--all', ...at])).code).toBe(2);
  expect((await listed(broker)).messages).toHaveLength(4);
  const retried = jsonOf(await signalbox(['dead', 'retry', '--inbox', 'walt', ...at]));
  expect(retried).toMatchObject({ retried: [expect.any(Number), expect.any(Number)], unknown: [] });
  expect((await listed(broker)).messages.map(({ inbox }) => inbox)).toEqual(['yara', 'yara']);
  const dropped = jsonOf(await signalbox(['dead', 'drop', '--all', ...at]));
  expect(dropped).toMatchObject({ dropped: [expect.any(Number), expect.any(Number)], unknown: [] });
  expect(await listed(broker)).toEqual({ messages: [], more: false });
});

test('An agent may not look at dead letters.', async () => {
  await using broker = await startTestBroker();
  const env = { SIGNALBOX_TOKEN: await broker.token('walt'), SIGNALBOX_URL: broker.url };
  const run = await signalbox(['dead', 'list', '--json'], { env });
  expect(run.code).toBe(77);
  expect(jsonOf(run)).toMatchObject({ error: { code: 'forbidden' } });
});
