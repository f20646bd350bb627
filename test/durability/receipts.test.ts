import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { brokerFiles } from '@signalbox/broker';
import { openSqliteInboxStore } from '@signalbox/store';
import { connectWire, startTestBroker, tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { connectOperator } from '../support/broker/wire-actions.ts';
import { startDaemon } from '../support/cli/command-line.ts';
import { type ReceiptOrder, receiptOrder } from '../support/durability/system-calls.ts';
import { canTrace, startTracedBroker } from '../support/durability/traced-broker.ts';

const ids = ['first-message', 'second-message', 'third-message'];

/** The order of things for some messages, one after the other. */
async function observe(durability: 'full' | 'process'): Promise<ReceiptOrder[]> {
  await using broker = await startTracedBroker({ durability });
  const { operator } = broker;
  for (const id of ids) {
    operator.send({ type: 'deliver', to: 'operator', id, kind: 'note' }, `"body of ${id}"`);
    await operator.next('delivered', { id });
  }
  const calls = await broker.trace();
  return ids.map((id) => receiptOrder(calls, id));
}

/** Opens the message files as they are right now, somewhere else, as after a crash of the process. */
async function storedNow(dataDir: string, inbox: string): Promise<string[]> {
  await using copy = await tempDir();
  mkdirSync(`${copy.path}/data`);
  const { messages: to } = brokerFiles(`${copy.path}/data`);
  const { messages: from } = brokerFiles(dataDir);
  // The mark comes first: it must not name a commit that is not in the other copies.
  for (const suffix of ['.mark', '', '-wal']) {
    if (existsSync(`${from}${suffix}`)) copyFileSync(`${from}${suffix}`, `${to}${suffix}`);
  }
  await using store = await openSqliteInboxStore({ file: to, durability: 'full' });
  return (await store.read(inbox, 0, 1000, 1e9)).map(({ id }) => id);
}

const traced = canTrace();
if (!traced) {
  process.stderr.write(
    '\nNO STRACE HERE: that the log is synced before the receipt is NOT shown by this run. Install strace.\n' +
      'What is still shown is weaker: the files hold each message at its receipt.\n\n',
  );
}

describe.each(traced ? ['with strace'] : [])('the order of sync and receipt, %s', () => {
  it('durability full: the sync of the log has returned before the receipt is written to the socket', async () => {
    for (const { read, logged, synced, receipt } of await observe('full')) {
      expect(read).toBeGreaterThanOrEqual(0);
      expect(logged).toBeGreaterThan(read);
      expect(synced).toBeGreaterThan(logged);
      expect(receipt).toBeGreaterThan(synced);
    }
  });

  it('durability process: the log is written before the receipt, and the same observation finds no sync', async () => {
    for (const { logged, synced, receipt } of await observe('process')) {
      expect(logged).toBeGreaterThan(0);
      expect(receipt).toBeGreaterThan(logged);
      expect(synced).toBe(-1);
    }
  });
});

describe.each(traced ? ['with strace'] : [])('a disk that fails to sync, %s', () => {
  it('gives no receipt, ends the broker, and the message can be sent again to the next one', async () => {
    await using directory = await tempDir();
    const dataDir = `${directory.path}/data`;
    await using failing = await startTracedBroker({ dataDir, failingSync: ids.length });
    const last = ids.at(-1)!;
    for (const id of ids) {
      failing.operator.send({ type: 'deliver', to: 'operator', id, kind: 'note' }, '{}');
      if (id !== last) await failing.operator.next('delivered', { id });
    }
    await failing.operator.closed;
    expect(failing.operator.received.map(({ id }) => id)).not.toContain(last);
    const { code, stderr } = await failing.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/messages\.db: the disk did not take what was written: EIO/);

    await using broker = await startTestBroker({ dataDir });
    await using operator = await connectOperator(broker);
    operator.send({ type: 'deliver', to: 'operator', id: last, kind: 'note' }, '{}');
    await operator.next('delivered', { id: last });
    expect(await storedNow(dataDir, 'operator')).toEqual(ids);
  });
});

describe('the files at the moment of a receipt', () => {
  it.each(['full', 'process'] as const)(
    'hold the message, and not the one that has none yet (durability %s)',
    async (durability) => {
      await using broker = await startTestBroker({ durability });
      await using operator = await connectWire(broker.url, {
        agent: 'operator',
        token: await broker.operatorToken(),
      });
      expect(operator.received[0]).toMatchObject({
        receipt_means: durability === 'full' ? 'fsynced' : 'written',
      });
      for (const [n, id] of ids.entries()) {
        operator.send({ type: 'deliver', to: 'operator', id, kind: 'note' }, '{}');
        await operator.next('delivered', { id });
        expect(await storedNow(broker.dataDir, 'operator')).toEqual(ids.slice(0, n + 1));
      }
    },
  );

  it('hold no acked message once the ack is confirmed', async () => {
    await using broker = await startTestBroker();
    await using operator = await connectWire(broker.url, {
      agent: 'operator',
      token: await broker.operatorToken(),
    });
    operator.send({ type: 'subscribe', request_id: 's' });
    for (const id of ids) operator.send({ type: 'deliver', to: 'operator', id, kind: 'note' }, '{}');
    const { seq } = await operator.next('message', { id: ids[1] });
    operator.send({ type: 'ack', seqs: [seq], request_id: 'a' });
    await operator.next('ack_result');
    expect(await storedNow(broker.dataDir, 'operator')).toEqual([ids[0], ids[2]]);
  });
});

describe('what the command says a receipt means', () => {
  it.each([
    [[], 'fsynced'],
    [['--durability', 'process'], 'written'],
  ])('with the options %j it is %s', async (options, means) => {
    await using directory = await tempDir();
    const args = ['broker', '--listen', '127.0.0.1:0', '--data', `${directory.path}/data`, ...options];
    await using broker = await startDaemon(args);
    const { url, operator_token_file: operatorTokenFile } = broker.ready as {
      url: string;
      operator_token_file: string;
    };
    const token = (await readFile(operatorTokenFile, 'utf8')).trim();
    await using operator = await connectWire(url, { agent: 'operator', token });
    expect(operator.received[0]).toMatchObject({ type: 'welcome', receipt_means: means });
  });
});
