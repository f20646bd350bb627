import type { WelcomeFrame } from '@signalbox/protocol';
import { connectWire } from '@signalbox/testing';
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

describe('many frames in one message', () => {
  it('end with the message when there is one byte too many, and the connection with it', async () => {
    await using client = await broker.connect('too-many');
    const line = '{"type":"working","seqs":[1]}\n';
    const { frameBytes: maxFrameBytes } = (client.received[0] as WelcomeFrame).limits.message as {
      frameBytes: number;
    };
    const fits = line.repeat(Math.floor(maxFrameBytes / line.length));
    await broker.during(async () => {
      client.raw(fits.padEnd(maxFrameBytes, '\n'));
      await handled(client, 'it-fits');
      client.raw(fits.padEnd(maxFrameBytes + 1, '\n'));
      expect((await client.closed).code).toBe(1009);
    });
  });
});

describe('a flood', () => {
  it('of messages is held to its rate, and each refusal names the frame and when to come back', async () => {
    await using client = await broker.connect('flooder', 'held');
    await broker.token('flooded');
    const ids = Array.from({ length: 2500 }, (_, i) => `f${i}`);
    await broker.during(async () => {
      for (const id of ids) client.send({ type: 'deliver', to: 'flooded', id, kind: 'note' });
      await handled(client, 'barrier');
    });
    const refused = client.received.filter(({ code }) => code === 'rate_limited');
    expect(refused.length).toBeGreaterThan(0);
    // Frames after a refusal wait until the rate allows some of them: else most of the last 1,000 would be refused.
    expect(refused.length).toBeLessThan(500);
    expect(refused.every((frame) => Number(frame.retry_after_ms) > 0 && ids.includes(String(frame.id)))).toBe(
      true,
    );
    const others = client.received.filter(({ code }) => code === 'quota_exceeded');
    expect(count(client, 'delivered') + refused.length + others.length).toBe(ids.length);
    expect(count(client, 'delivered')).toBe(1000);
  });

  it('of announcements leaves the first of each second', async () => {
    await using client = await broker.connect('announcer');
    const begun = performance.now();
    await broker.during(async () => {
      client.raw('{"type":"announce","status":1}\n'.repeat(20_000));
      await handled(client, 'barrier');
    });
    const refused = client.received.filter(({ code }) => code === 'rate_limited');
    const accepted = 20_000 - refused.length;
    expect(accepted).toBeGreaterThanOrEqual(1);
    expect(accepted).toBeLessThanOrEqual((performance.now() - begun) / 1000 + 2);
  });

  it('of subscriptions leaves the last one in charge', async () => {
    await using client = await broker.connect('subscriber');
    await using sender = await broker.connect('subscriber-friend');
    await broker.during(async () => {
      for (let i = 0; i < 5000; i++) client.send({ type: 'subscribe', request_id: `s${i}`, window: 3 });
      await client.next('subscribed', { request_id: 's4999' });
    });
    sender.send({ type: 'deliver', to: 'subscriber', id: 'once', kind: 'note' }, '{}');
    const { seq } = await client.next('message');
    client.send({ type: 'ack', seqs: [seq], request_id: 'a' });
    expect(await client.next('ack_result')).toMatchObject({ accepted: [seq] });
    expect(count(client, 'subscribed')).toBe(5000);
    expect(count(client, 'message')).toBe(1);
  });
});

describe('strangers', () => {
  it('with bad tokens are turned away one by one', async () => {
    const good = await broker.token('good');
    await broker.during(async () => {
      const storm = Array.from({ length: 200 }, async (_, i) => {
        await using stranger = await connectWire(broker.url);
        stranger.send({ type: 'hello', agent: 'good', token: `${good}${i}`, protocol: 1 });
        return (await stranger.closed).code;
      });
      const codes = await Promise.all(storm);
      expect(new Set(codes)).toEqual(new Set([4401]));
    });
    await using allowed = await connectWire(broker.url, { agent: 'good', token: good });
    expect(allowed.received[0]).toMatchObject({ type: 'welcome', agent: 'good' });
  });
});
