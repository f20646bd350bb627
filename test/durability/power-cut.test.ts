import { mkdirSync, writeFileSync } from 'node:fs';
import { brokerFiles } from '@signalbox/broker';
import { type InboxStore, openSqliteInboxStore } from '@signalbox/store';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { connect, subscribe } from '../support/broker/wire-actions.ts';
import { watchSyncs } from '../support/durability/disk-as-synced.ts';

/** The facts that clients knew when the power went, and the content of the disk. */
interface Cut {
  receipted: string[];
  /** Ids of the messages whose acks were confirmed. */
  acked: string[];
  /** The highest of the sequence numbers that bob had seen. */
  highestSeq: number;
  files: ReadonlyMap<string, Buffer>;
}

const bursts = 40;

/** The files of a store. */
const storeFiles = (file: string): string[] => [file, `${file}-wal`, `${file}.mark`];

/** Alice writes to bob, who acks some of it at once; the power could go after each of many bursts. */
async function traffic(durability: 'full' | 'process'): Promise<Cut[]> {
  await using broker = await startTestBroker({ durability });
  const { messages } = brokerFiles(broker.dataDir);
  using disk = watchSyncs(storeFiles(messages));
  await using alice = await connect(broker, 'alice');
  await using bob = await connect(broker, 'bob');
  await subscribe(bob, { window: 1000 });
  const idBySeq = new Map<number, string>();
  bob.socket.on('message', () => {
    for (const { type, seq, id } of bob.received.slice(idBySeq.size)) {
      if (type !== 'message' || idBySeq.has(seq as number)) continue;
      idBySeq.set(seq as number, id as string);
      if (idBySeq.size % 3 === 0) bob.send({ type: 'ack', seqs: [seq], request_id: `ack-${seq}` });
    }
  });
  const cuts: Cut[] = [];
  for (let burst = 0; burst < bursts; burst++) {
    const size = 1 + ((burst * 7) % 13);
    for (let i = 0; i < size; i++) {
      alice.send({ type: 'deliver', to: 'bob', id: `m-${burst}-${i}`, kind: 'note' }, '{"a":1}');
    }
    // Where in the work of the broker that is differs from burst to burst.
    if (burst % 2 === 1) await alice.next('delivered', { id: `m-${burst}-${size - 1}` });
    else await bob.next('message', { id: `m-${burst}-0` });
    const acked = bob.received.flatMap(({ type, accepted }) => (type === 'ack_result' ? accepted : []));
    cuts.push({
      receipted: alice.received.flatMap(({ type, id }) => (type === 'delivered' ? [id as string] : [])),
      acked: (acked as number[]).map((seq) => idBySeq.get(seq)!),
      highestSeq: Math.max(...idBySeq.keys()),
      files: disk.files(),
    });
  }
  return cuts;
}

/** Its sequence number. */
async function commitOne(store: InboxStore, id: string): Promise<number> {
  const from = { sender: 'alice', senderAddress: 'alice', senderRole: 'worker' };
  const message = { inbox: 'bob', id, ...from, kind: 'note', createdAt: 1, expiresAt: 2 ** 42 };
  const [stored] = await store.commit({ messages: [message], attempts: [], settlements: [] });
  return (stored as { seq: number }).seq;
}

/** Opens what a power cut left, as the next start of a broker would. */
async function openAfter({ files }: Pick<Cut, 'files'>, directory: string): Promise<InboxStore> {
  mkdirSync(directory);
  const { messages } = brokerFiles(directory);
  for (const [name, content] of files) {
    writeFileSync(messages + name.slice(name.lastIndexOf('.db') + 3), content);
  }
  return openSqliteInboxStore({ file: messages, durability: 'full', boot: 'after the cut' });
}

/** Lists messages with a receipt, and confirmed acks, that the disk does not hold. */
async function lost({ receipted, acked }: Cut, store: InboxStore): Promise<string[]> {
  const lost: string[] = [];
  for (const id of receipted) {
    const found = await store.find('bob', 'alice', id);
    if (!found || (acked.includes(id) && found.outcome !== 'acked')) lost.push(id);
  }
  return lost;
}

describe('a power cut at the worst moment, which takes all that was not synced', () => {
  it('takes nothing that had a receipt, and no number is given twice', async () => {
    await using directory = await tempDir();
    const cuts = await traffic('full');
    for (const [n, cut] of cuts.entries()) {
      await using store = await openAfter(cut, `${directory.path}/${n}`);
      expect(await lost(cut, store)).toEqual([]);
      expect(await commitOne(store, 'next')).toBeGreaterThan(cut.highestSeq);
    }
    expect(cuts.at(-1)!.acked.length).toBeGreaterThan(10);
  });

  it('may take a message that was never synced, and its number is not given again', async () => {
    await using directory = await tempDir();
    const file = `${directory.path}/messages.db`;
    using disk = watchSyncs(storeFiles(file));
    await using store = await openSqliteInboxStore({ file, durability: 'full' });
    const number = await commitOne(store, 'unsynced');
    const files = disk.files();
    await using again = await openAfter({ files }, `${directory.path}/again`);
    expect(await again.find('bob', 'alice', 'unsynced')).toBeUndefined();
    expect(await commitOne(again, 'next')).toBeGreaterThan(number);
  });

  it('takes what had one where durability is process: the same observation finds it missing', async () => {
    await using directory = await tempDir();
    const [cut] = (await traffic('process')).slice(-1);
    await using store = await openAfter(cut!, `${directory.path}/last`);
    expect((await lost(cut!, store)).length).toBeGreaterThan(0);
  });
});
