import { connectWire, type WireClient } from '@signalbox/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { count, handled } from '../support/abuse/floods.ts';
import { type MonitoredBroker, startMonitoredBroker } from '../support/broker/monitored-broker.ts';

let broker: MonitoredBroker;
beforeAll(async () => {
  // The rate decides, and not the machine, as long as a broker takes 2,500 messages in less than five seconds.
  const held = { rates: { messages: 200, messagesBurst: 1500 } };
  broker = await startMonitoredBroker({ roleLimits: { held } });
});
afterAll(() => broker[Symbol.asyncDispose]());

/** The number of frames in one message, which has room for more. */
const many = 100_000;

describe('many frames in one message', () => {
  it('are handled in turns with everybody else when they are valid', async () => {
    await using client = await broker.connect('many-valid');
    await broker.during(async () => {
      client.raw('{"type":"working","seqs":[1]}\n'.repeat(many));
      await handled(client, 'barrier');
    });
    expect(count(client, 'error')).toBe(0);
  });

  it('are each answered when they are bad, in memory that is bounded', async () => {
    await using client = await broker.connect('many-bad');
    await broker.during(async () => {
      client.raw('x\n'.repeat(many));
      await handled(client, 'barrier');
    });
    expect(count(client, 'error')).toBe(many);
  });
});

describe('a flood', () => {
  it('of connections that subscribe and leave ends with the one that stays', async () => {
    const token = await broker.token('hopper');
    await using sender = await broker.connect('hopper-friend');
    await broker.during(async () => {
      for (let i = 0; i < 150; i++) {
        await using hopper = await connectWire(broker.url, { agent: 'hopper', token });
        hopper.send({ type: 'subscribe', request_id: 's' });
      }
    });
    await using last = await connectWire(broker.url, { agent: 'hopper', token });
    last.send({ type: 'subscribe', request_id: 's' });
    await last.next('subscribed');
    sender.send({ type: 'deliver', to: 'hopper', id: 'm', kind: 'note' }, '{}');
    expect(await last.next('message')).toMatchObject({ id: 'm' });
  });
});

describe('strangers', () => {
  it('of many sockets without a hello keep nobody out', async () => {
    const batches = 20;
    const strangers = new Set<WireClient>();
    await broker.during(async () => {
      for (let batch = 0; batch < batches; batch++) {
        const opening = Array.from({ length: 100 }, () => connectWire(broker.url));
        for (const stranger of await Promise.all(opening)) strangers.add(stranger);
      }
      const evicted = [...strangers].slice(0, 100 * batches - 256);
      await Promise.all(evicted.map((stranger) => stranger.closed));
      await using newcomer = await broker.connect('newcomer');
      expect(newcomer.received[0]).toMatchObject({ type: 'welcome' });
    }, 64);
    const left = [...strangers].filter(({ socket }) => socket.readyState === socket.OPEN);
    expect(left.length).toBeLessThanOrEqual(256);
    await Promise.all([...strangers].map((stranger) => stranger[Symbol.asyncDispose]()));
  });

  it('that send large messages by halves take no memory from the others', async () => {
    const strangers: WireClient[] = [];
    await broker.during(async () => {
      for (let i = 0; i < 24; i++) {
        const stranger = await connectWire(broker.url);
        strangers.push(stranger);
        stranger.socket.send('x'.repeat(4_000_000), { fin: false });
        await Promise.race([stranger.closed, sent(stranger)]);
      }
    });
    expect(strangers.some(({ socket }) => socket.readyState === socket.CLOSED)).toBe(true);
    await Promise.all(strangers.map((stranger) => stranger[Symbol.asyncDispose]()));
  });
});

/** Resolves when the socket has nothing left to write. */
async function sent({ socket }: WireClient): Promise<void> {
  while (socket.bufferedAmount > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}
