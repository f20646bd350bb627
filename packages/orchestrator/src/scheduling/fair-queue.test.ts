import { describe, expect, it, test } from 'vitest';
import type { CallLimits } from './call-limits.ts';
import { FairQueue, type QueuedCall } from './fair-queue.ts';

const plenty = 1_000_000;
const unlimited: CallLimits = {
  global: plenty,
  perServer: plenty,
  perWorker: plenty,
  waitingPerWorker: plenty,
  heldCalls: plenty,
};

const call = (worker: string, server = 'server'): QueuedCall => ({ worker, server });

/** Opens a queue that starts at once every call that can start; `running` lists these, in order. */
function open(limits: Partial<CallLimits>) {
  const queue = new FairQueue<QueuedCall>({ ...unlimited, ...limits });
  const running: QueuedCall[] = [];
  const pump = () => {
    const before = running.length;
    for (let next = queue.next(); next !== undefined; next = queue.next()) running.push(next);
    return running.slice(before);
  };
  return {
    queue,
    running,
    send: (...calls: QueuedCall[]) =>
      calls.map((one) => {
        const refusal = queue.enqueue(one);
        pump();
        return refusal ?? 'taken';
      }),
    /** Ends the oldest running call, and returns the workers whose calls start in its place. */
    finish: () => {
      queue.finished(running.shift()!);
      return pump().map(({ worker }) => worker);
    },
  };
}

describe('workers take turns', () => {
  it('so that one with a thousand calls and one with a single call at a time alternate', () => {
    const { send, finish } = open({ global: 1 });
    send(...Array.from({ length: 1000 }, () => call('greedy')));
    const order: string[] = [];
    for (let n = 0; n < 10; n++) {
      if (n % 2 === 0) send(call('modest'));
      order.push(...finish());
    }
    expect(order.join(' ')).toBe(Array(5).fill('greedy modest').join(' '));
  });

  it('also on one server, however many slots other servers have', () => {
    const { send, finish, running } = open({ perServer: 1 });
    for (const worker of ['a', 'b']) send(...[1, 2, 3].map(() => call(worker, 'busy')));
    send(call('c', 'idle'));
    expect(running.map(({ worker }) => worker)).toEqual(['a', 'c']);
    const order = Array.from({ length: 7 }, finish).flat();
    expect(order).toEqual(['a', 'b', 'a', 'b', 'b']);
  });

  it('and what a worker sends to one server keeps its order', () => {
    const { queue, send, running } = open({ perServer: 1 });
    const [first, second, third] = [call('a'), call('a'), call('a')];
    send(first, second, third);
    const order = [0, 1, 2].map(() => {
      const one = running.shift()!;
      queue.finished(one);
      const next = queue.next();
      if (next) running.push(next);
      return one;
    });
    expect(order.map((one) => [first, second, third].indexOf(one))).toEqual([0, 1, 2]);
  });
});

describe('a call that waits', () => {
  it('holds no slot of its worker or of all: a busy server stops nobody on the way to another', () => {
    const { send, running } = open({ global: 3, perWorker: 2, perServer: 1 });
    send(call('a', 'busy'), call('a', 'busy'), call('b', 'busy'), call('c', 'busy'));
    expect(running).toHaveLength(1);
    send(call('a', 'idle'), call('b', 'other'));
    expect(running.map(({ server }) => server)).toEqual(['busy', 'idle', 'other']);
  });

  it('knows its place in the line of its server, which is the order in which calls then run', () => {
    const { queue, send, finish } = open({ perServer: 1 });
    const [greedy, ann, bea] = [
      [call('greedy'), call('greedy'), call('greedy'), call('greedy')],
      [call('ann'), call('ann')],
      [call('bea')],
    ];
    send(...greedy, ...ann, ...bea);
    const waiting = [...greedy.slice(1), ...ann, ...bea];
    expect(queue.position(greedy[0]!)).toBeUndefined();
    const inOrder = waiting.toSorted((a, b) => queue.position(a)! - queue.position(b)!);
    expect(waiting.map((one) => queue.position(one)).toSorted()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(inOrder.map(() => finish()[0])).toEqual(inOrder.map(({ worker }) => worker));
  });

  it('can be taken out, and one that runs cannot', () => {
    const { queue, send, finish } = open({ global: 1 });
    const [runs, waits, next] = [call('a'), call('a'), call('b')];
    send(runs, waits, next);
    expect([queue.remove(waits), queue.remove(waits), queue.remove(runs)]).toEqual([true, false, false]);
    expect(finish()).toEqual(['b']);
    expect([queue.running, queue.waiting]).toEqual([1, 0]);
  });

  it('is among all that are taken out together, and nothing that runs is', () => {
    const { queue, send, finish } = open({ global: 1 });
    const sent = [call('a'), call('a', 'other'), call('b'), call('b')];
    send(...sent);
    expect(new Set(queue.removeAll())).toEqual(new Set(sent.slice(1)));
    expect(finish()).toEqual([]);
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
  });
});

describe('a worker may have only so many calls waiting', () => {
  it('and the next one is refused, but not those of others', () => {
    const { queue, send } = open({ perWorker: 1, waitingPerWorker: 2 });
    expect(send(call('a'), call('a'), call('a'), call('a'))).toEqual([
      'taken',
      'taken',
      'taken',
      'queue_full',
    ]);
    expect(queue.load('a')).toEqual({ running: 1, waiting: 2 });
    expect(send(call('b'))).toEqual(['taken']);
  });

  it('and a call that need not wait is none of them', () => {
    const { send } = open({ perServer: 1, waitingPerWorker: 1 });
    expect(send(call('a', 'busy'), call('a', 'busy'), call('a', 'busy'))).toEqual([
      'taken',
      'taken',
      'queue_full',
    ]);
    expect(send(call('a', 'idle'))).toEqual(['taken']);
  });

  it('and has room again when one of them starts or leaves', () => {
    const { queue, send, finish } = open({ perWorker: 1, waitingPerWorker: 1 });
    const waits = call('a');
    send(call('a'), call('a'));
    expect(send(waits)).toEqual(['queue_full']);
    finish();
    expect(send(waits)).toEqual(['taken']);
    queue.remove(waits);
    expect(send(call('a'))).toEqual(['taken']);
  });
});

test.each([2, 10, 100])('when %i workers flood, there is room for one that does not', (floods) => {
  const { queue, send } = open({ global: 4, perServer: 4, heldCalls: 200 });
  for (let round = 0; round < 100; round++) {
    for (let flood = 0; flood < floods; flood++) send(call(`flood-${flood}`));
  }
  expect(queue.running + queue.waiting).toBeLessThan(200);
  expect(send(call('flood-0'))).toEqual(['no_room']);
  expect(send(call('modest'))).toEqual(['taken']);
});
