import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { brokerFiles, startBroker } from '@signalbox/broker';
import { connectWire, startBrokerProcess, startTestBroker, tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import {
  admin,
  connect,
  connectOperator,
  deliver,
  subscribe,
  undeliverable,
} from '../support/broker/wire-actions.ts';

/** Flips a bit of a byte, at every place where this text is. */
function flip(file: string, text: string): void {
  const content = readFileSync(file);
  let flipped = 0;
  for (let at = content.indexOf(text); at >= 0; at = content.indexOf(text, at + 1), flipped++)
    content[at]! ^= 1;
  expect(flipped).toBeGreaterThan(0);
  writeFileSync(file, content);
}

/** Starts a broker on a directory that must be refused, then with its loss accepted, and then as always. */
async function expectLossToBeAccepted(dataDir: string, message: RegExp): Promise<void> {
  const options = { dataDir, port: 0 };
  await expect(startBroker(options)).rejects.toMatchObject({
    code: 'store_damaged',
    message: expect.stringMatching(message),
  });
  await (await startBroker({ ...options, acceptLoss: true })).stop();
  await (await startBroker(options)).stop();
}

describe('a message whose body was damaged on the disk', () => {
  it('becomes a dead letter, its sender is told, and those behind it go on', async () => {
    await using dir = await tempDir();
    const dataDir = `${dir.path}/data`;
    const logged: unknown[] = [];
    {
      await using broker = await startTestBroker({ dataDir });
      await using alice = await connect(broker, 'alice');
      await broker.tokenOf('bob');
      await deliver(alice, 'bob', 'first', {}, '"whole first"');
      await deliver(alice, 'bob', 'second', {}, '"scratched"');
      await deliver(alice, 'bob', 'third', { kind: 'note' }, '"scratched, too"');
      await deliver(alice, 'bob', 'fourth', {}, '"whole fourth"');
    }
    flip(brokerFiles(dataDir).messages, 'scratched');
    await using broker = await startTestBroker({ dataDir, log: (event) => logged.push(event) });
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    await using operator = await connectOperator(broker);
    await subscribe(alice);
    await subscribe(bob);
    expect(await bob.next('message')).toMatchObject({ id: 'first', body: '"whole first"' });
    expect(await bob.next('message')).toMatchObject({ id: 'fourth', body: '"whole fourth"' });
    expect(await undeliverable(alice)).toMatchObject({
      correlation_id: 'second',
      why: { reason: 'damaged' },
    });
    const { messages } = await admin<{ messages: { seq: number; id: string }[] }>(operator, 'dead_list');
    const damaged = { reason: expect.stringMatching(/^damaged/), size: expect.any(Number) };
    expect(messages).toMatchObject([
      { id: 'second', ...damaged },
      { id: 'third', ...damaged },
    ]);
    const { seq } = messages[0]!;
    const shown = await admin<{ message: object }>(operator, 'dead_show', { seq });
    expect(shown.message).not.toHaveProperty('body');
    expect(await admin(operator, 'dead_retry', { seqs: [seq] })).toMatchObject({
      retried: [],
      refused: [{ seq, code: 'damaged' }],
    });
    for (const id of ['second', 'third'])
      expect(logged).toContainEqual(
        expect.objectContaining({ event: 'damage_found', detail: expect.stringContaining(`'${id}'`) }),
      );
    const audited = await admin(operator, 'audit', { since: 0 });
    expect(JSON.stringify(audited)).toContain('has lost its body');
  });
});

describe('a damaged token', () => {
  it('authenticates nobody, and is listed until it is revoked; others are as they were', async () => {
    await using dir = await tempDir();
    const dataDir = `${dir.path}/data`;
    const secrets: string[] = [];
    {
      await using broker = await startTestBroker({ dataDir });
      secrets.push(await broker.token('mallory', 'scratched'), await broker.token('bob', 'worker'));
    }
    flip(brokerFiles(dataDir).tokens, 'scratched');
    await using broker = await startTestBroker({ dataDir });
    const refused = connectWire(broker.url, { agent: 'mallory', token: secrets[0]! });
    await expect(refused).rejects.toMatchObject({ message: expect.stringContaining('unauthorized') });
    await using bob = await connectWire(broker.url, { agent: 'bob', token: secrets[1]! });
    expect(bob.received[0]).toMatchObject({ type: 'welcome', role: 'worker' });
    await using operator = await connectOperator(broker);
    const list = async () =>
      (await admin<{ tokens: { id: string; damaged?: true }[] }>(operator, 'token_list')).tokens;
    const [damaged, ...others] = (await list()).filter((token) => token.damaged);
    expect(others).toEqual([]);
    await admin(operator, 'token_revoke', { id: damaged!.id });
    expect((await list()).filter((token) => token.damaged)).toEqual([]);
  });
});

describe('a data directory that has lost something', () => {
  it('is refused while a database is missing or empty, unless the loss is accepted', async () => {
    await using dir = await tempDir();
    const dataDir = `${dir.path}/data`;
    const { messages, tokens } = brokerFiles(dataDir);
    await (await startBroker({ dataDir, port: 0 })).stop();
    for (const file of [messages, tokens]) {
      rmSync(file);
      await expectLossToBeAccepted(dataDir, new RegExp(`${file} is missing or empty.*--accept-loss`));
      truncateSync(file);
      await expectLossToBeAccepted(dataDir, new RegExp(`${file} is missing or empty`));
    }
    rmSync(messages);
    rmSync(`${messages}.mark`);
    await expectLossToBeAccepted(dataDir, /is missing or empty/);
  });

  it('is refused when its log is shorter than what had receipts, and not when only the end is torn', async () => {
    await using dir = await tempDir();
    const dataDir = `${dir.path}/data`;
    const { messages } = brokerFiles(dataDir);
    const log = `${messages}-wal`;
    {
      await using broker = await startBrokerProcess(dataDir);
      await using operator = await connectWire(broker.url, {
        agent: 'operator',
        token: await broker.operatorToken(),
      });
      for (const id of ['a', 'b', 'c', 'd']) await deliver(operator, 'operator', id, { kind: 'note' });
      await broker.kill();
    }
    writeFileSync(log, Buffer.concat([readFileSync(log), Buffer.alloc(1000, 'torn')]));
    const whole = readFileSync(log);
    const database = readFileSync(messages);
    await (await startBroker({ dataDir, port: 0 })).stop();
    writeFileSync(messages, database);
    writeFileSync(log, whole.subarray(0, statSync(messages).size === 0 ? 0 : whole.length - 40_000));
    await expectLossToBeAccepted(dataDir, /has lost its last \d+ commits? \(numbers? .*--accept-loss/);
    expect(existsSync(messages)).toBe(true);
  });
});
