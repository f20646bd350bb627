import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { brokerFiles, startBroker } from '@signalbox/broker';
import { connectWire, startTestBroker, tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { expectLossToBeAccepted } from '../support/broker/damage.ts';
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

describe('a damaged audit log', () => {
  it('is set aside and reported, as one that is gone is, and the broker delivers', async () => {
    await using dir = await tempDir();
    const dataDir = `${dir.path}/data`;
    const { audit } = brokerFiles(dataDir);
    await (await startBroker({ dataDir, port: 0 })).stop();
    const whole = readFileSync(audit);
    const garbage = [
      Buffer.alloc(20_000, 'garbage'),
      Buffer.concat([whole.subarray(0, 4096), Buffer.alloc(8192, 7)]),
    ];
    for (const [n, content] of garbage.entries()) {
      writeFileSync(audit, content);
      const logged: unknown[] = [];
      const now = () => Date.UTC(2026, 0, 1 + n);
      await using broker = await startTestBroker({ dataDir, now, log: (event) => logged.push(event) });
      const aside = `${audit}.damaged-2026-01-0${1 + n}T00-00-00.000Z`;
      expect(readFileSync(aside)).toEqual(content);
      const detail = expect.stringContaining(aside);
      expect(logged).toContainEqual(
        expect.objectContaining({ event: 'damage_found', what: 'audit', detail }),
      );
      await using alice = await connect(broker, 'alice');
      await deliver(alice, 'alice', 'first', { kind: 'note' });
      await using operator = await connectOperator(broker);
      expect(JSON.stringify(await admin(operator, 'audit', { since: 0 }))).toContain(aside);
    }
    rmSync(audit);
    await using broker = await startTestBroker({ dataDir });
    await using operator = await connectOperator(broker);
    expect(JSON.stringify(await admin(operator, 'audit', { since: 0 }))).toContain(`${audit} is gone`);
  });

  it('is no damage when a broker starts for the first time', async () => {
    const logged: object[] = [];
    await using _broker = await startTestBroker({ log: (event) => logged.push(event) });
    expect(logged).not.toContainEqual(expect.objectContaining({ event: 'damage_found' }));
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
    // The database holds no commit here, as when all of them were in a log that is gone, too.
    for (const spoil of [() => rmSync(`${messages}.mark`), () => writeFileSync(`${messages}.mark`, 'xx')]) {
      spoil();
      await expectLossToBeAccepted(dataDir, /has lost its \.mark file/);
    }
  });

  it('is refused while a database is missing beside its log, which a refused start keeps', async () => {
    await using dir = await tempDir();
    const dataDir = `${dir.path}/data`;
    const { messages, tokens } = brokerFiles(dataDir);
    await (await startBroker({ dataDir, port: 0 })).stop();
    for (const file of [messages, tokens]) {
      rmSync(file);
      writeFileSync(`${file}-wal`, 'the log');
      await expect(startBroker({ dataDir, port: 0 })).rejects.toThrow(`${file} is missing or empty`);
      expect(readFileSync(`${file}-wal`, 'utf8')).toBe('the log');
      await expectLossToBeAccepted(dataDir, new RegExp(`${file} is missing or empty`));
    }
  });

  it('is refused while all its databases are missing and only a file is left that was made after them', async () => {
    await using dir = await tempDir();
    const dataDir = `${dir.path}/data`;
    const { messages, tokens, operatorToken, audit } = brokerFiles(dataDir);
    const journal = `${dataDir}/journal.db`;
    for (const left of [audit, journal]) {
      await (await startBroker({ dataDir, port: 0 })).stop();
      writeFileSync(journal, 'an orchestrator has written here');
      for (const file of [messages, `${messages}.mark`, tokens, operatorToken, audit, journal])
        if (file !== left) rmSync(file);
      const names = new RegExp(`${messages} is missing.*${tokens} is missing.*made only later: ${left}\\.`);
      await expectLossToBeAccepted(dataDir, names, { madeLater: [journal] });
      rmSync(dataDir, { recursive: true });
    }
    // A broker that dies at its first start leaves only the first files, and begins again.
    for (const unmade of [[operatorToken], [operatorToken, audit], [operatorToken, audit, tokens]]) {
      await (await startBroker({ dataDir, port: 0 })).stop();
      for (const file of unmade) rmSync(file);
    }
    await (await startBroker({ dataDir, port: 0 })).stop();
  });
});
