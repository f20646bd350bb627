import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fault } from '@signalbox/serving';
import { type NewMessage, openSqliteInboxStore } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { slowDisk } from '../../../test/slow-disk.ts';
import { brokerSender, sentByBroker } from '../broker-sender.ts';
import { noMeter } from '../meter.ts';
import type { DeliverResult, Producer } from '../producer.ts';
import { CommitQueue } from './commit-queue.ts';

interface Settings {
  fault?: Fault;
  durability?: 'full' | 'process';
  lazyMs?: number;
  onSynced?: () => void;
}

async function openQueue(
  heard: string[],
  { fault, durability = 'process', lazyMs = 1, onSynced = () => {} }: Settings = {},
) {
  const dir = await mkdtemp(join(tmpdir(), 'signalbox-queue-'));
  const store = await openSqliteInboxStore({ file: join(dir, 'messages.db'), durability });
  const queue = new CommitQueue(store, {
    onError: () => heard.push('error'),
    onStoreFailed: () => heard.push('failed'),
    lazyMs,
    meter: { ...noMeter, synced: onSynced },
    monotonic: () => performance.now(),
    fault,
  });
  queue.listen({ message: ({ id }) => void heard.push(`${id} written`), notice: () => {} });
  return {
    queue,
    async [Symbol.asyncDispose]() {
      await queue.flushed();
      await store[Symbol.asyncDispose]();
      await rm(dir, { recursive: true });
    },
  };
}

/** Returns the settings of a queue on a disk that reports its syncs. */
function full(heard: string[]): Settings {
  return { durability: 'full', onSynced: () => heard.push('synced') };
}

function note(id: string, settles?: NewMessage['settles']): NewMessage {
  return { ...sentByBroker, inbox: 'reader', id, kind: 'note', createdAt: 1, expiresAt: 2 ** 42, settles };
}

function ask(id: string): NewMessage {
  return { ...note(id), kind: 'ask', openUntil: 2 ** 42 };
}

function told(heard: string[]): Producer {
  const answer = ({ id }: NewMessage, { result }: DeliverResult): void => void heard.push(`${id} ${result}`);
  return { sender: brokerSender, answer };
}

describe('a commit queue', () => {
  it('syncs a question, of whose receipt nobody waits, together with what somebody waits for', async () => {
    const heard: string[] = [];
    await using opened = await openQueue(heard, { ...full(heard), lazyMs: 60_000 });
    const { queue } = opened;
    // The first sync shows that the store syncs.
    queue.append(ask('first'), told(heard), true);
    await queue.flushed();
    await new Promise(setImmediate);
    heard.length = 0;
    queue.append(ask('a'), told(heard), true);
    await queue.written();
    queue.append(ask('b'), told(heard), true);
    await queue.written();
    expect(heard).toEqual(['a written', 'b written']);
    const { promise: isAnswered, resolve } = Promise.withResolvers<void>();
    const producer = told(heard);
    queue.append(note('c'), { ...producer, answer: (...one) => resolve(producer.answer(...one)) }, false);
    await isAnswered;
    expect(heard).toEqual([
      ...['a written', 'b written', 'c written', 'synced'],
      ...['a stored', 'b stored', 'c stored'],
    ]);
  });

  it('syncs at once what somebody begins to wait for', async () => {
    const heard: string[] = [];
    await using opened = await openQueue(heard, { ...full(heard), lazyMs: 60_000 });
    const { queue } = opened;
    queue.append(ask('a'), told(heard), true);
    await queue.flushed();
    queue.append(ask('b'), told(heard), true);
    await queue.written();
    await queue.flushed();
    expect(heard).toEqual(['a written', 'synced', 'a stored', 'b written', 'synced', 'b stored']);
  });

  it('syncs a question that is alone in time', async () => {
    const heard: string[] = [];
    await using opened = await openQueue(heard, full(heard));
    const { queue } = opened;
    queue.append(ask('a'), told(heard), true);
    await queue.flushed();
    const { promise: isAnswered, resolve } = Promise.withResolvers<void>();
    queue.append(ask('b'), { sender: brokerSender, answer: () => resolve() }, true);
    await isAnswered;
    expect(heard.slice(3)).toEqual(['b written', 'synced']);
  });

  it('tells each producer what became of its messages, in their order', async () => {
    const heard: string[] = [];
    await using opened = await openQueue(heard);
    const { queue } = opened;
    const [one, other] = [told(heard), told(heard)];
    queue.append(note('a'), one, true);
    queue.append(note('b'), other, true);
    queue.append(note('a'), one, true);
    expect(queue.isBusy).toBe(true);
    await queue.flushed();
    await new Promise(setImmediate);
    expect(heard).toEqual([
      ...['a written', 'b written', 'a written'],
      ...['a stored', 'b stored', 'a duplicate'],
    ]);
    expect(queue.isBusy).toBe(false);
  });

  it('hands messages out while the disk works, and answers when it is done', async () => {
    const heard: string[] = [];
    await using opened = await openQueue(heard, { durability: 'full' });
    const { queue } = opened;
    queue.append(note('a'), told(heard), true);
    await queue.written();
    await Promise.resolve();
    expect(heard).toEqual(['a written']);
    expect(queue.isBusy).toBe(true);
    queue.append(note('b'), told(heard), true);
    await queue.flushed();
    expect(heard.toSorted()).toEqual(['a stored', 'a written', 'b stored', 'b written']);
    expect(heard.indexOf('b stored')).toBeGreaterThan(heard.indexOf('a stored'));
    expect(queue.isBusy).toBe(false);
  });

  it.each([
    ['batches', 64, undefined],
    ['bytes', 4, 'x'.repeat(4 * 1024 * 1024)],
  ])('lets no more %s than a bound wait for a slow disk', async (_, bound, body) => {
    await using opened = await openQueue([], { durability: 'full' });
    using disk = slowDisk();
    const { queue } = opened;
    // One batch is being synced; as many as the bound allows may wait behind it.
    for (let i = 0; i <= bound; i++) {
      queue.append({ ...note(`m${i}`), body }, told([]), true);
      await queue.written();
    }
    queue.append(note('too many'), told([]), true);
    let isWritten = false;
    const written = queue.written().then(() => {
      isWritten = true;
    });
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(isWritten).toBe(false);
    disk.goOn();
    await written;
  });

  it('commits what nobody can be handed when the disk is free', async () => {
    const heard: string[] = [];
    await using opened = await openQueue(heard, { durability: 'full' });
    using disk = slowDisk();
    const { queue } = opened;
    queue.append(note('a'), told([]), true);
    await queue.written();
    queue.append(note('b'), told([]), false);
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(heard).toEqual(['a written']);
    queue.append(note('c'), told([]), true);
    await queue.written();
    expect(heard).toEqual(['a written', 'b written', 'c written']);
    disk.goOn();
  });

  it('knows which settlements wait, whether they came before or after it was first asked', async () => {
    await using opened = await openQueue([]);
    const { queue } = opened;
    expect(queue.isSettling(5)).toBe(false);
    queue.settle({ inbox: 'reader', seq: 5, outcome: 'acked' });
    expect([4, 5, 6].map((seq) => queue.isSettling(seq))).toEqual([false, true, false]);
    queue.settle({ inbox: 'reader', seq: 6, outcome: 'expired' });
    queue.settle({ inbox: 'reader', seq: 3, outcome: 'acked' });
    expect([3, 4, 5, 6].map((seq) => queue.isSettling(seq))).toEqual([true, false, true, true]);
    await queue.flushed();
    await new Promise(setImmediate);
    expect([3, 5, 6].map((seq) => queue.isSettling(seq))).toEqual([false, false, false]);
    queue.settle({ inbox: 'reader', seq: 2, outcome: 'acked' });
    expect([2, 5].map((seq) => queue.isSettling(seq))).toEqual([true, false]);
  });

  it('still knows them while their commit runs', async () => {
    const isSettling: boolean[] = [];
    const fault = (point: string): void => {
      if (point === 'broker.deliver.after_commit') isSettling.push(queue.isSettling(7));
    };
    await using opened = await openQueue([], { fault });
    const { queue } = opened;
    queue.settle({ inbox: 'reader', seq: 7, outcome: 'acked' });
    queue.append(note('a'), told([]), true);
    await queue.flushed();
    expect(isSettling).toEqual([true]);
  });

  it('passes the points of an ack where a message settles another one, or an ack rides along', async () => {
    const passed: string[] = [];
    await using opened = await openQueue([], { fault: (point) => void passed.push(point) });
    const { queue } = opened;
    const points = async (): Promise<string[]> => {
      await queue.flushed();
      return passed.splice(0).filter((point) => point.startsWith('broker.ack'));
    };
    const ofAnAck = ['broker.ack.before_commit', 'broker.ack.after_commit'];
    queue.append(note('a'), told([]), true);
    expect(await points()).toEqual([]);
    queue.append(note('b', { inbox: 'reader', seq: 1 }), told([]), true);
    expect(await points()).toEqual(ofAnAck);
    queue.settle({ inbox: 'reader', seq: 2, outcome: 'expired' });
    expect(await points()).toEqual([]);
    queue.settle({ inbox: 'reader', seq: 3, outcome: 'acked' });
    expect(await points()).toEqual(ofAnAck);
  });
});
