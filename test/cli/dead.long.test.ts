import { readFile } from 'node:fs/promises';
import { connectBroker } from '@signalbox/client';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { giveUp, type Listed, listed } from '../support/cli/dead.ts';
import { startWorkspace } from '../support/cli/workspace.ts';

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

test('Retry says before it begins that nobody waits for an answer, and the answer ends with its reason and without a dead letter.', async () => {
  const config = { broker: { listen: '127.0.0.1:0', data: './state', limits: { message: { ttlMs: 4000 } } } };
  await using workspace = await startWorkspace(() => JSON.stringify(config));
  const { env } = await workspace.agent('walt', 'writer');
  const token = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const walt = await connectBroker({ url: workspace.ready.broker.url, token, agent: 'walt' });
  await using _walt = walt;
  const subscription = await walt.subscribe();
  const asker = await workspace.agent('ann', 'writer');
  const asked = workspace.run(['ask', 'walt', 'what is new?', '--json'], asker.env);
  const { value } = await subscription.messages.next();
  await walt.nack([value!.seq!], { dead: true, reason: 'no key' });
  // The asker is no operator, and is told the reason all the same.
  expect(jsonOf(await asked)).toMatchObject({
    error: {
      code: 'undeliverable',
      detail: 'no key',
      message: 'walt: the message was given up: no key',
    },
  });

  const { messages } = jsonOf(await workspace.run(['dead', 'list', '--json'])) as Listed;
  const seq = String(messages[0]!.seq);
  const shown = await workspace.run(['dead', 'show', seq]);
  expect(shown.stdout).toMatch(/^answer +nobody waits for it/m);
  const retried = await workspace.run(['dead', 'retry', seq]);
  expect(retried.stderr).toMatch(new RegExp(`^Nobody waits for an answer to ${seq}: who asked was told`));
  expect(retried.stdout).toContain('1 message put back');
  const again = await subscription.messages.next();
  await walt.deliver({
    to: again.value!.from.address,
    id: `re:${again.value!.id}`,
    kind: 'reply',
    body: 'nothing',
    correlationId: again.value!.id,
    settles: again.value!.seq,
  });
  await expect
    .poll(async () => (await workspace.run(['history'])).stdout, { interval: 200, timeout: 20_000 })
    .toMatch(/reply +expired after .* \(nobody waited for this answer\)/);
  expect(jsonOf(await workspace.run(['dead', 'list', '--json']))).toEqual({ messages: [], more: false });
});
