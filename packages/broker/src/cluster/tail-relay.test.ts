import type { MessageFrame } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import type { Consumer } from '../core/consumer.ts';
import { TailFollowers } from '../frames/tail-followers.ts';
import { BrokerTalk } from './broker-talk.ts';
import { TailRelay } from './tail-relay.ts';

const sender = { agent: 'ann', address: 'ann', role: 'worker' };

/** Makes two brokers that hear each other at once, and a connection to the first one. */
function twoBrokers() {
  const listeners = new Map<string, (text: string) => void>();
  const told: string[] = [];
  let clock = 0;
  const start = (broker: string, run = broker) => {
    const followers = new TailFollowers(() => clock);
    const presence = {
      broker,
      brokers: async () => [...listeners.keys()].map((name) => ({ name, since: 0 })),
      async tellBrokers(text: string, to?: string) {
        told.push(text);
        for (const [name, listener] of listeners)
          if (name !== broker && (to === undefined || to === name)) listener(text);
      },
      onTold: (listener: (text: string) => void) => void listeners.set(broker, listener),
    };
    const onError = (error: unknown): void => {
      throw error;
    };
    const talk = new BrokerTalk({ presence, newId: () => `${told.length}`, onError });
    return { followers, relay: new TailRelay({ talk, followers, run, monotonic: () => clock }) };
  };
  const notices: Record<string, unknown>[] = [];
  const connection = {
    pushEphemeral: (_: MessageFrame, body: string) => notices.push(JSON.parse(body)) > 0,
  } as unknown as Consumer;
  return {
    start,
    told,
    notices,
    connection,
    advance: (ms: number) => {
      clock += ms;
    },
  };
}

function refuse(followers: TailFollowers, times: number): void {
  for (let n = 0; n < times; n++) followers.refused(sender, { code: 'bad_frame', message: `${n}` });
}

test('Nothing is sent while nobody follows, and nothing more a moment after the last one has ended.', async () => {
  const { start, told, notices, connection } = twoBrokers();
  const [one, other] = [start('one'), start('other')];
  refuse(other.followers, 1);
  for (const { relay } of [one, other]) {
    await relay.check();
    await relay.send();
  }
  expect([other.followers.isOn, told]).toEqual([false, []]);
  one.followers.add(connection, { address: 'operator', agent: undefined, seesPrivate: true });
  await one.relay.begin();
  expect(other.followers.isOn).toBe(true);
  refuse(other.followers, 2);
  await other.relay.send();
  expect(notices).toMatchObject([{ what: 'refused', refused: { detail: '0' } }, { what: 'refused' }]);
  one.followers.remove(connection);
  await one.relay.check();
  expect(other.followers.isOn).toBe(false);
  const before = told.length;
  refuse(other.followers, 1);
  await other.relay.send();
  await one.relay.check();
  expect(told).toHaveLength(before);
});

test('A connection is told how many events of another broker were lost.', async () => {
  const { start, notices, connection, advance } = twoBrokers();
  const [one, other] = [start('one'), start('other')];
  one.followers.add(connection, { address: 'operator', agent: undefined, seesPrivate: true });
  await one.relay.begin();
  refuse(other.followers, 600);
  await other.relay.send();
  expect(notices).toHaveLength(500);
  // The numbers of the next lines show that a hundred did not fit, even if nothing happens.
  advance(1000);
  await other.relay.send();
  expect(notices.slice(500)).toMatchObject([{ what: 'missed', missed: 100 }]);
});

test('A connection is told of a broker that ends without a word, or begins anew, and not of one that stops.', async () => {
  const { start, notices, connection, advance } = twoBrokers();
  const one = start('one');
  one.followers.add(connection, { address: 'operator', agent: 'ann', seesPrivate: true });
  const watched = async (run: string) => {
    const other = start('other', run);
    await one.relay.check();
    refuse(other.followers, 1);
    await other.relay.send();
    return other;
  };
  await watched('first');
  const second = await watched('second');
  expect(notices.map(({ what }) => what)).toEqual(['refused', 'gap', 'refused']);
  expect(notices[1]).toMatchObject({ broker: 'other' });
  advance(6000);
  await one.relay.check();
  await one.relay.check();
  expect(notices.slice(3).map(({ what }) => what)).toEqual(['gap']);
  refuse(second.followers, 1);
  await second.relay[Symbol.asyncDispose]();
  advance(6000);
  await one.relay.check();
  expect(notices.slice(4).map(({ what }) => what)).toEqual(['refused']);
});
