import { type Message, splitFrames } from '@signalbox/protocol';
import { describe, expect, it } from 'vitest';
import { HandClock } from '../../test/hand-clock.ts';
import { handBack, type ServeAnswer, type ServedRequest, type ServeHandler } from '../broker-client.ts';
import { DeadlineTable } from '../requests/deadline-table.ts';
import { DeliveryTable } from '../requests/delivery-table.ts';
import { Outbox } from '../socket/outbox.ts';
import { RequestRunner } from './request-runner.ts';

const asker = { agent: 'asker', address: 'asker#1', role: 'worker' };

function request(id: string, seq: number, fields: Partial<Message> = {}): Message {
  return { id, seq, from: asker, to: 'server', kind: 'ask', created_at: 0, ...fields };
}

/** A runner whose socket notes what leaves. */
function openRunner(handler: ServeHandler, concurrency = 64, tellsStart = false, newestBefore = 0) {
  const clock = new HandClock();
  const outbox = new Outbox(clock);
  const deadlines = new DeadlineTable(clock);
  const deliveries = new DeliveryTable({ outbox, deadlines, clock });
  const left: Record<string, unknown>[] = [];
  const given: Message[] = [];
  outbox.attach((text) => {
    left.push(...[...splitFrames(text)].map(({ header }) => JSON.parse(header)));
  });
  deliveries.resume();
  const runner = new RequestRunner(
    { kinds: ['ask'], handler, concurrency, tellsStart },
    {
      outbox,
      deliveries,
      deadlines,
      clock,
      log: () => {},
      address: 'orchestrator',
      tracing: undefined,
      newId: () => 'id',
      epoch: () => 1,
      waitedBefore: (seq) => seq <= newestBefore,
      parseBody: JSON.parse,
      giveBack: (message) => given.push(message),
    },
  );
  const flush = async () => {
    await new Promise(setImmediate);
    outbox.flush();
    return left.splice(0);
  };
  return { runner, clock, flush, given };
}

describe('a cancel that overtakes its request', () => {
  it('has it acked without running, if it comes from the sender', async () => {
    const ran: string[] = [];
    const { runner, flush } = openRunner(async ({ message }) => {
      ran.push(message.id);
      return undefined;
    });
    runner.cancel({ type: 'cancel', correlation_id: 'a', from: asker });
    runner.cancel({ type: 'cancel', correlation_id: 'b', from: { ...asker, agent: 'stranger' } });
    runner.accept(request('a', 1));
    runner.accept(request('b', 2));
    expect(await flush()).toEqual([
      { type: 'working', seqs: [2] },
      { type: 'ack', seqs: [1, 2] },
    ]);
    expect(ran).toEqual(['b']);
  });

  it('is forgotten after a minute, when an id may come again', async () => {
    const ran: string[] = [];
    const { runner, clock } = openRunner(async ({ message }) => {
      ran.push(message.id);
      return undefined;
    });
    runner.cancel({ type: 'cancel', correlation_id: 'a', from: asker });
    clock.advance(60_001);
    runner.accept(request('a', 1));
    expect(ran).toEqual(['a']);
  });
});

describe('a request that waits for a free handler', () => {
  it('is acked when it is cancelled and given back to the broker when its time is over', async () => {
    const ran: string[] = [];
    const { runner, clock, flush } = openRunner(({ message }) => {
      ran.push(message.id);
      return new Promise(() => {});
    }, 1);
    runner.accept(request('running', 1));
    runner.accept(request('cancelled', 2));
    runner.accept(request('late', 3, { remaining_ms: 500 }));
    runner.cancel({ type: 'cancel', correlation_id: 'cancelled', from: asker });
    clock.advance(500);
    expect(await flush()).toMatchObject([
      { type: 'nack', seqs: [3] },
      { type: 'working', seqs: [1] },
      { type: 'ack', seqs: [2] },
    ]);
    expect(ran).toEqual(['running']);
    expect(runner.inFlight).toBe(1);
  });
});

describe('a handler', () => {
  it('sees its deadline as an aborted signal, and its reply settles the request all the same', async () => {
    const { runner, clock, flush } = openRunner(
      (served) =>
        new Promise((resolve) => {
          served.signal.addEventListener('abort', () => {
            resolve({ kind: 'reply', body: { code: served.signal.reason.code, left: served.remainingMs() } });
          });
        }),
    );
    runner.accept(request('a', 7, { remaining_ms: 1_000 }));
    clock.advance(999);
    expect(await flush()).toEqual([{ type: 'working', seqs: [7] }]);
    clock.advance(1_000);
    expect(await flush()).toMatchObject([
      { type: 'deliver', to: 'asker#1', id: 're:a', correlation_id: 'a', settles: 7, ttl_ms: 300_000 },
    ]);
  });

  it('that throws at once or returns no JSON value has its request given back', async () => {
    const { runner, flush } = openRunner(({ message }) => {
      if (message.id === 'throws') throw new Error('at once');
      return Promise.resolve({ kind: 'reply', body: 1n });
    });
    runner.accept(request('throws', 1));
    runner.accept(request('returns', 2));
    const frames = await flush();
    expect(frames.filter(({ type }) => type === 'nack')).toMatchObject([
      { seqs: [1], reason: 'at once' },
      { seqs: [2], reason: 'the handler returned a body that is not a JSON value' },
    ]);
    expect(runner.inFlight).toBe(0);
  });
});

describe('a handler that tells when its work begins', () => {
  it('can hand back what it has not begun: neither acked nor counted as tried, with the rest of its time', async () => {
    const { runner, clock, flush, given } = openRunner(async () => handBack, 64, true);
    clock.advance(100);
    runner.accept(request('timed', 1, { remaining_ms: 1_000 }));
    clock.advance(400);
    runner.accept(request('untimed', 2));
    expect(await flush()).toEqual([]);
    expect(given).toEqual([request('timed', 1, { remaining_ms: 700 }), request('untimed', 2)]);
    expect(runner.inFlight).toBe(0);
  });

  it('has the broker told once, and again when the request is delivered again', async () => {
    let served: ServedRequest | undefined;
    const { runner, flush } = openRunner(
      (given) => {
        served = given;
        return new Promise(() => {});
      },
      64,
      true,
      1,
    );
    runner.accept(request('a', 1));
    runner.accept(request('a', 1));
    expect(await flush()).toEqual([]);
    served!.started();
    served!.started();
    expect(await flush()).toEqual([{ type: 'working', seqs: [1] }]);
    runner.accept(request('a', 1));
    expect(await flush()).toEqual([{ type: 'working', seqs: [1] }]);
  });

  it('has the broker told of requests that came since the subscription only if their work takes 5 ms', async () => {
    const answers = new Map<string, (answer: ServeAnswer) => void>();
    const { runner, clock, flush } = openRunner(
      (served) => {
        served.started();
        return new Promise((resolve) => answers.set(served.message.id, resolve));
      },
      64,
      true,
      1,
    );
    runner.accept(request('waited', 1));
    runner.accept(request('short', 2));
    runner.accept(request('long', 3));
    expect(await flush()).toEqual([{ type: 'working', seqs: [1] }]);
    clock.advance(4);
    answers.get('short')!({ kind: 'reply', body: 1 });
    expect(await flush()).toMatchObject([{ type: 'deliver', settles: 2 }]);
    clock.advance(5);
    expect(await flush()).toEqual([{ type: 'working', seqs: [3] }]);
    answers.get('long')!(undefined);
    expect(await flush()).toEqual([{ type: 'ack', seqs: [3] }]);
    clock.advance(60_000);
    expect(await flush()).toEqual([]);
  });

  it('has the broker told at once of work that says so', async () => {
    const { runner, flush } = openRunner(
      (served) => {
        served.started({ atOnce: true });
        return new Promise(() => {});
      },
      64,
      true,
      1,
    );
    runner.accept(request('a', 2));
    expect(await flush()).toEqual([{ type: 'working', seqs: [2] }]);
  });
});
