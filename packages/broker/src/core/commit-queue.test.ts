import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Fault, noFault } from '@signalbox/protocol';
import { type NewMessage, openSqliteInboxStore } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { brokerSender, sentByBroker } from './broker-sender.ts';
import { CommitQueue, type Deliverer, type DeliverResult } from './commit-queue.ts';

async function openQueue(heard: string[], fault: Fault = noFault) {
  const dir = await mkdtemp(join(tmpdir(), 'signalbox-queue-'));
  const store = await openSqliteInboxStore({ file: join(dir, 'messages.db'), durability: 'process' });
  const queue = new CommitQueue(store, {
    onAnswer: (message, deliverer, result) => deliverer.answer(message, result),
    onCommitted: () => heard.push('committed'),
    onNotice: () => {},
    onError: () => heard.push('error'),
    lazyMs: 1,
    fault,
  });
  return {
    queue,
    async [Symbol.asyncDispose]() {
      await queue.flushed();
      await store[Symbol.asyncDispose]();
      await rm(dir, { recursive: true });
    },
  };
}

function note(id: string, settles?: NewMessage['settles']): NewMessage {
  return { ...sentByBroker, inbox: 'reader', id, kind: 'note', createdAt: 1, expiresAt: 2 ** 42, settles };
}

function told(heard: string[]): Deliverer {
  const answer = ({ id }: NewMessage, { result }: DeliverResult): void => void heard.push(`${id} ${result}`);
  return { sender: brokerSender, answer };
}

describe('a commit queue', () => {
  it('tells each deliverer what became of its messages, in their order, and then that all are committed', async () => {
    const heard: string[] = [];
    await using opened = await openQueue(heard);
    const { queue } = opened;
    const [one, other] = [told(heard), told(heard)];
    queue.append(note('a'), one);
    queue.append(note('b'), other);
    queue.append(note('a'), one);
    expect(queue.isBusy).toBe(true);
    await queue.flushed();
    await new Promise(setImmediate);
    expect(heard).toEqual(['a stored', 'b stored', 'a duplicate', 'committed']);
    expect(queue.isBusy).toBe(false);
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
    const heard: string[] = [];
    await using opened = await openQueue(heard);
    const { queue } = opened;
    const isSettling: boolean[] = [];
    queue.settle({ inbox: 'reader', seq: 7, outcome: 'acked' });
    queue.append(note('a'), { sender: brokerSender, answer: () => isSettling.push(queue.isSettling(7)) });
    await queue.flushed();
    expect(isSettling).toEqual([true]);
  });

  it('passes the points of an ack where a message settles another one, or an ack rides along', async () => {
    const passed: string[] = [];
    await using opened = await openQueue([], (point) => void passed.push(point));
    const { queue } = opened;
    const points = async (): Promise<string[]> => {
      await queue.flushed();
      return passed.splice(0).filter((point) => point.startsWith('broker.ack'));
    };
    const ofAnAck = ['broker.ack.before_commit', 'broker.ack.after_commit'];
    queue.append(note('a'), told([]));
    expect(await points()).toEqual([]);
    queue.append(note('b', { inbox: 'reader', seq: 1 }), told([]));
    expect(await points()).toEqual(ofAnAck);
    queue.settle({ inbox: 'reader', seq: 2, outcome: 'expired' });
    expect(await points()).toEqual([]);
    queue.settle({ inbox: 'reader', seq: 3, outcome: 'acked' });
    expect(await points()).toEqual(ofAnAck);
  });
});
