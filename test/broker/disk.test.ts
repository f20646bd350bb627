import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBroker } from '@signalbox/broker';
import {
  connectWire,
  startBrokerProcess,
  startTestBroker,
  tempDir,
  type WireClient,
  type WireFrame,
} from '@signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import { admin, connect, deliver, subscribe } from '../support/broker/wire-actions.ts';

const body = 'x'.repeat(100_000);

/** No file of the process may grow beyond this from now on: for SQLite what a full disk is, and anybody may do it. */
function limitFiles(pid: number, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

async function send(client: WireClient, id: string): Promise<WireFrame> {
  client.send({ type: 'deliver', to: 'bob', id, kind: 'note' }, body);
  return client.next(['delivered', 'error'], { id });
}

async function waiting(operator: WireClient): Promise<string[]> {
  const ids: string[] = [];
  for (let after = 0; ; ) {
    operator.send({ type: 'peek', request_id: 'p', address: 'bob', after, limit: 1000 });
    const messages = (await operator.next('peeked')).messages as { id: string; seq: number }[];
    if (messages.length === 0) return ids;
    ids.push(...messages.map(({ id }) => id));
    after = messages.at(-1)!.seq;
  }
}

describe('a full disk', () => {
  it('refuses messages truthfully, lets acks go on, and takes messages again when there is room', async () => {
    await using dir = await tempDir();
    const dataDir = `${dir.path}/data`;
    const reserve = join(dataDir, 'messages.db.reserve');
    const broker = await startBrokerProcess(dataDir);
    const credentials = { agent: 'operator', token: await broker.operatorToken() };
    const receipted: string[] = [];
    {
      await using operator = await connectWire(broker.url, credentials);
      const { token } = await admin(operator, 'token_issue', { agent: 'bob', role: 'worker' });
      await using bob = await connectWire(broker.url, { agent: 'bob', token: token as string });
      await subscribe(bob, { window: 1000, window_bytes: 1e9 });
      const deliverUntil = async (code: string): Promise<void> => {
        for (let i = 0; i < 100; i++) {
          const id = `m${receipted.length}`;
          const answer = await send(operator, id);
          if (answer.type === 'delivered') receipted.push(id);
          else {
            expect(answer).toMatchObject({ code, retryable: true });
            return;
          }
        }
        expect.fail('the disk never got full');
      };
      for (let i = 0; i < 8; i++) receipted.push((await send(operator, `m${i}`)).id as string);
      expect(statSync(reserve).size).toBe(4 * 1024 * 1024);
      limitFiles(broker.pid, statSync(join(dataDir, 'messages.db-wal')).size + 250_000);
      await deliverUntil('storage_full');
      // The broker tries to take the reserve again, and part of it is there for a moment.
      await expect.poll(() => existsSync(reserve)).toBe(false);
      expect(await waiting(operator)).toEqual(receipted);
      // Bodies are acked one by one: each is a commit of its own, and all of them find room.
      const acked = receipted.splice(0, 6);
      for (const id of acked) {
        const { seq } = await bob.next('message', { id });
        bob.send({ type: 'ack', seqs: [seq], request_id: id });
        expect(await bob.next('ack_result', { request_id: id })).toMatchObject({ accepted: [seq] });
      }
      expect(await waiting(operator)).toEqual(receipted);
      expect(await send(operator, 'still-full')).toMatchObject({ code: 'storage_full' });
      limitFiles(broker.pid, 'unlimited');
      await vi.waitFor(
        async () => expect(await send(operator, 'room-again')).toMatchObject({ type: 'delivered' }),
        { interval: 200 },
      );
      receipted.push('room-again');
      expect(statSync(reserve).size).toBe(4 * 1024 * 1024);
    }
    await broker.kill();
    await using again = await startBrokerProcess(dataDir, broker.port);
    await using operator = await connectWire(again.url, credentials);
    expect(await waiting(operator)).toEqual(receipted);
  });

  it('in the sense of the cap refuses messages too, tells who asks, and takes them when some were dropped', async () => {
    await using broker = await startTestBroker({ limits: { store: { bytes: 457_000 } } });
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    await subscribe(bob);
    await deliver(alice, 'bob', 'a', {}, body);
    await deliver(alice, 'bob', 'b', {}, body);
    alice.send({ type: 'deliver', to: 'bob', id: 'c', kind: 'note' }, 'x'.repeat(200_000));
    expect(await alice.next('error')).toMatchObject({ code: 'storage_full', id: 'c', retryable: true });
    const { seq } = await bob.next('message', { id: 'a' });
    bob.send({ type: 'ack', seqs: [seq], request_id: 'done' });
    expect(await bob.next('ack_result', { request_id: 'done' })).toMatchObject({ accepted: [seq] });
    await deliver(alice, 'bob', 'd', {}, body);
  });
});

describe('a data directory that cannot be used', () => {
  it('names the damaged file and the command that recovers it, and starts once that file is whole', async () => {
    await using dir = await tempDir();
    const dataDir = `${dir.path}/data`;
    await (await startBroker({ dataDir, port: 0 })).stop();
    for (const name of ['messages.db', 'tokens.db']) {
      const file = join(dataDir, name);
      const whole = readFileSync(file);
      writeFileSync(file, Buffer.alloc(whole.length, 'damaged '));
      await expect(startBroker({ dataDir, port: 0 })).rejects.toMatchObject({
        code: 'store_corrupt',
        message: expect.stringContaining(`sqlite3 "${file}" .recover | sqlite3 "${file}.recovered"`),
      });
      writeFileSync(file, whole);
      const broker = await startBroker({ dataDir, port: 0 });
      expect(broker.port).toBeGreaterThan(0);
      await broker.stop();
    }
  });

  it('is named when it is read-only, with what to do, and starts beside it', async () => {
    await using dir = await tempDir();
    chmodSync(dir.path, 0o755);
    const closed = join(dir.path, 'closed');
    mkdirSync(closed, { mode: 0o555 });
    const starting = asNobody(() => startBroker({ dataDir: join(closed, 'data'), port: 0 }));
    await expect(starting).rejects.toMatchObject({
      code: 'store_unwritable',
      message: expect.stringMatching(/closed\/data.*must be able to write there.*sudo chown/),
    });
    await using broker = await startBroker({ dataDir: join(dir.path, 'data'), port: 0 });
    expect(broker.port).toBeGreaterThan(0);
  });
});

/** Permissions don't hold for root, so root stops being it for a while. */
async function asNobody<T>(run: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid!(65_534);
  try {
    return await run();
  } finally {
    if (isRoot) process.seteuid!(0);
  }
}
