import { type Message, splitFrames } from '@signalbox/protocol';
import { describe, expect, it } from 'vitest';
import { HandClock } from '../../test/hand-clock.ts';
import { DeadlineTable } from '../deadline-table.ts';
import { DeliveryTable } from '../requests/delivery-table.ts';
import { Outbox } from '../socket/outbox.ts';
import { handBack, type ServedRequest, type ServeHandler } from './accepted-request.ts';
import { RequestRunner } from './request-runner.ts';

const asker = { agent: 'asker', address: 'asker#1', role: 'worker' };

function request(id: string, seq: number, fields: Partial<Message> = {}): Message {
  return { id, seq, from: asker, to: 'server', kind: 'ask', created_at: 0, ...fields };
}

/** A lane whose socket notes what leaves. */
function openLane(handler: ServeHandler, concurrency = 64, tellsStart = false) {
  const clock = new HandClock();
  const outbox = new Outbox(clock.now);
  const deadlines = new DeadlineTable(clock);
  const deliveries = new DeliveryTable({ outbox, deadlines, clock });
  const left: Record<string, unknown>[] = [];
  const given: Message[] = [];
  outbox.attach((text) => {
    left.push(...[...splitFrames(text)].map(({ header }) => JSON.parse(header)));
  });
  deliveries.resume();
  const lane = new RequestRunner(
    { kinds: ['ask'], handler, concurrency, tellsStart },
    {
      outbox,
      deliveries,
      deadlines,
      clock,
      log: () => {},
      newId: () => 'id',
      epoch: () => 1,
      giveBack: (message) => given.push(message),
    },
  );
  const flush = async () => {
    await new Promise(setImmediate);
    outbox.flush();
    return left.splice(0);
  };
  return { lane, clock, flush, given };
}

describe('a cancel that overtakes its request', () => {
  it('has it acked without running, if it comes from the sender', async () => {
    const ran: string[] = [];
    const { lane, flush } = openLane(async ({ message }) => {
      ran.push(message.id);
      return undefined;
    });
    lane.cancel({ type: 'cancel', correlation_id: 'a', from: asker });
    lane.cancel({ type: 'cancel', correlation_id: 'b', from: { ...asker, agent: 'stranger' } });
    lane.accept(request('a', 1));
    lane.accept(request('b', 2));
    expect(await flush()).toEqual([
      { type: 'working', seqs: [2] },
      { type: 'ack', seqs: [1, 2] },
    ]);
    expect(ran).toEqual(['b']);
  });

  it('is forgotten after a minute, when an id may come again', async () => {
    const ran: string[] = [];
    const { lane, clock } = openLane(async ({ message }) => {
      ran.push(message.id);
      return undefined;
    });
    lane.cancel({ type: 'cancel', correlation_id: 'a', from: asker });
    clock.advance(60_001);
    lane.accept(request('a', 1));
    expect(ran).toEqual(['a']);
  });
});

describe('a request that waits for a free handler', () => {
  it('is acked when it is cancelled and given back to the broker when its time is over', async () => {
    const ran: string[] = [];
    const { lane, clock, flush } = openLane(({ message }) => {
      ran.push(message.id);
      return new Promise(() => {});
    }, 1);
    lane.accept(request('running', 1));
    lane.accept(request('cancelled', 2));
    lane.accept(request('late', 3, { remaining_ms: 500 }));
    lane.cancel({ type: 'cancel', correlation_id: 'cancelled', from: asker });
    clock.advance(500);
    expect(await flush()).toMatchObject([
      { type: 'nack', seqs: [3] },
      { type: 'working', seqs: [1] },
      { type: 'ack', seqs: [2] },
    ]);
    expect(ran).toEqual(['running']);
    expect(lane.inFlight).toBe(1);
  });
});

describe('a handler', () => {
  it('sees its deadline as an aborted signal, and its reply settles the request all the same', async () => {
    const { lane, clock, flush } = openLane(
      (served) =>
        new Promise((resolve) => {
          served.signal.addEventListener('abort', () => {
            resolve({ kind: 'reply', body: { code: served.signal.reason.code, left: served.remainingMs() } });
          });
        }),
    );
    lane.accept(request('a', 7, { remaining_ms: 1_000 }));
    clock.advance(999);
    expect(await flush()).toEqual([{ type: 'working', seqs: [7] }]);
    clock.advance(1_000);
    expect(await flush()).toMatchObject([
      { type: 'deliver', to: 'asker#1', id: 're:a', correlation_id: 'a', settles: 7, ttl_ms: 300_000 },
    ]);
  });

  it('that throws at once or returns no JSON value has its request given back', async () => {
    const { lane, flush } = openLane(({ message }) => {
      if (message.id === 'throws') throw new Error('at once');
      return Promise.resolve({ kind: 'reply', body: 1n });
    });
    lane.accept(request('throws', 1));
    lane.accept(request('returns', 2));
    const frames = await flush();
    expect(frames.filter(({ type }) => type === 'nack')).toMatchObject([
      { seqs: [1], reason: 'at once' },
      { seqs: [2], reason: 'the handler returned a body that is not a JSON value' },
    ]);
    expect(lane.inFlight).toBe(0);
  });
});

describe('a handler that tells when its work begins', () => {
  it('can hand back what it has not begun: neither acked nor counted as tried, with the rest of its time', async () => {
    const { lane, clock, flush, given } = openLane(async () => handBack, 64, true);
    clock.advance(100);
    lane.accept(request('timed', 1, { remaining_ms: 1_000 }));
    clock.advance(400);
    lane.accept(request('untimed', 2));
    expect(await flush()).toEqual([]);
    expect(given).toEqual([request('timed', 1, { remaining_ms: 700 }), request('untimed', 2)]);
    expect(lane.inFlight).toBe(0);
  });

  it('has the broker told once, and again when the request is delivered again', async () => {
    let served: ServedRequest | undefined;
    const { lane, flush } = openLane(
      (given) => {
        served = given;
        return new Promise(() => {});
      },
      64,
      true,
    );
    lane.accept(request('a', 1));
    lane.accept(request('a', 1));
    expect(await flush()).toEqual([]);
    served!.started();
    served!.started();
    expect(await flush()).toEqual([{ type: 'working', seqs: [1] }]);
    lane.accept(request('a', 1));
    expect(await flush()).toEqual([{ type: 'working', seqs: [1] }]);
  });
});
