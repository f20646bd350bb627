import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type InboxStore, openSqliteInboxStore } from '@signalbox/store';
import { expect, it, vi } from 'vitest';
import { lateReads } from '../../test/late-reads.ts';
import { slowDisk } from '../../test/slow-disk.ts';
import { alone } from '../cluster/alone.ts';
import { brokerSender, sentByBroker } from './broker-sender.ts';
import type { Consumer } from './consumer.ts';
import { Delivery } from './delivery.ts';
import { noMeter } from './meter.ts';
import { ExpiryClock } from './time/expiry-clock.ts';

const monotonic = (): number => performance.now();

function expiryClock(): ExpiryClock {
  const ignore = (): void => {};
  return new ExpiryClock({ now: Date.now, monotonic, reached: undefined, onLeap: ignore, onHoldEnd: ignore });
}

async function openDelivery(wrap = (store: InboxStore) => store) {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-delivery-'));
  const store = await openSqliteInboxStore({ file: join(directory, 'messages.db'), durability: 'full' });
  const ignore = (): void => {};
  const tail = { isOn: false, report: ignore };
  const callbacks = { newLeaseId: () => 'lease', onError: ignore, onStoreFailed: ignore };
  const wrapped = wrap(store);
  const delivery = new Delivery({
    ...callbacks,
    store: wrapped,
    cluster: alone(wrapped),
    time: expiryClock(),
    monotonic,
    maxDeliver: 5,
    fault: undefined,
    tail,
    meter: noMeter,
  });
  return {
    delivery,
    async [Symbol.asyncDispose]() {
      await delivery.close();
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

it('lets those who send wait when the disk does not keep up, and go on when it does', async () => {
  await using opened = await openDelivery();
  using disk = slowDisk();
  const { delivery } = opened;
  let answers = 0;
  const producer = { sender: brokerSender, answer: () => void answers++ };
  const body = JSON.stringify('x'.repeat(1024 * 1024));
  const deliver = (id: string) =>
    delivery.deliver(
      { ...sentByBroker, inbox: 'nobody', id, kind: 'note', createdAt: 1, expiresAt: 2 ** 42, body },
      producer,
    );
  expect(deliver('first')).toBeUndefined();
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  // The disk has the first message; 16 MiB may wait behind it.
  for (let i = 0; i < 15; i++) expect(deliver(`m${i}`), `${i}`).toBeUndefined();
  const behind = deliver('one too many');
  expect(behind).toBeInstanceOf(Promise);
  disk.goOn();
  await behind;
  await delivery.flushed();
  expect(answers).toBe(17);
  expect(deliver('next')).toBeUndefined();
});

it('does not push what its sender cancels while a slow store reads it', async () => {
  let reads: (() => void)[] = [];
  await using opened = await openDelivery((store) => {
    const late = lateReads(store);
    reads = late.waiting;
    return late.store;
  });
  const { delivery } = opened;
  const producer = { sender: brokerSender, answer: () => {} };
  const ask = { ...sentByBroker, inbox: 'reader', kind: 'ask', createdAt: 1, expiresAt: 2 ** 42 };
  for (const id of ['kept', 'cancelled', 'last']) delivery.deliver({ ...ask, id }, producer);
  await delivery.flushed();
  const pushed: string[] = [];
  const consumer = {
    writable: true,
    push: ({ id }: { id: string }) => void pushed.push(id),
    pushEphemeral: () => true,
    send: () => {},
  };
  const subscription = await delivery.subscriptions.subscribe('reader', consumer, {
    window: 10,
    windowBytes: 1e6,
  });
  delivery.subscriptions.start(subscription!.lease);
  await vi.waitFor(() => expect(reads).toHaveLength(1));
  await delivery.cancellations.cancel(brokerSender, 'reader', 'cancelled');
  await delivery.flushed();
  reads.shift()!();
  await vi.waitFor(() => expect(reads).toHaveLength(1));
  expect(pushed).toEqual(['kept', 'last']);
  reads.shift()!();
});

it('leaves the inbox free when the store fails while it is subscribed to', async () => {
  let isBroken = true;
  await using opened = await openDelivery(
    (store) =>
      new Proxy(store, {
        get(target, name) {
          if (name === 'stats' && isBroken) return () => Promise.reject(new Error('the medium failed'));
          const member = Reflect.get(target, name, target);
          return typeof member === 'function' ? member.bind(target) : member;
        },
      }),
  );
  const { delivery } = opened;
  const ignore = (): void => {};
  const consumer = { writable: true, push: ignore, pushEphemeral: () => true, send: ignore };
  const subscribe = () =>
    delivery.subscriptions.subscribe('reader', consumer, { window: 10, windowBytes: 1e6 });
  await expect(subscribe()).rejects.toThrow('the medium failed');
  expect(delivery.isLeased('reader')).toBe(false);
  isBroken = false;
  expect(await subscribe()).toMatchObject({ pending: 0 });
});

it('keeps all messages of a sender with one member of a shared inbox as long as that lives', async () => {
  await using opened = await openDelivery();
  const { delivery } = opened;
  const join = async () => {
    const had: string[] = [];
    const consumer: Consumer = {
      writable: true,
      push: ({ id }) => void had.push(id),
      pushEphemeral: ({ id }) => had.push(id) > 0,
      send() {},
    };
    const member = { agent: 'hub', role: 'orchestrator' };
    const options = { window: 1, windowBytes: 1000, member, keys: 'by_member' } as const;
    const subscription = await delivery.subscriptions.join('hub', consumer, options);
    delivery.subscriptions.start(subscription!.lease);
    return { had, consumer, lease: subscription!.lease };
  };
  const from = (agent: string) => ({ agent, address: agent, role: 'worker' });
  const send = async (sender: string, id: string): Promise<void> => {
    const { agent, address, role } = from(sender);
    const by = { sender: agent, senderAddress: address, senderRole: role };
    const content = { kind: 'mcp_request', createdAt: Date.now(), expiresAt: Date.now() + 60_000, body: '1' };
    void delivery.deliver({ ...by, ...content, inbox: 'hub', id }, { sender: from(sender), answer() {} });
    await delivery.flushed();
  };
  const ack = async ({ consumer, lease }: Awaited<ReturnType<typeof join>>): Promise<void> => {
    expect(delivery.ack(consumer, [...lease.inFlight.keys()]).rejected).toEqual([]);
    await delivery.flushed();
  };
  const [one, other] = [await join(), await join()];
  await send('ann', 'ann1');
  await send('bob', 'bob1');
  await send('ann', 'ann2');
  await ack(other);
  // The other member has room, and the message waits for the one that has the sender.
  await send('kim', 'kim1');
  expect([one.had, other.had]).toEqual([['ann1'], ['bob1', 'kim1']]);
  const live = { type: 'message', to: 'hub', from: from('ann'), id: 'live', kind: 'event' } as const;
  expect(await delivery.deliverEphemeral({ ...live, created_at: 1, remaining_ms: 1 }, '1')).toBe(true);
  expect(one.had).toEqual(['ann1', 'live']);
  await ack(one);
  await expect.poll(() => one.had).toEqual(['ann1', 'live', 'ann2']);
  await ack(one);
  await ack(other);
  // No message of the sender is in flight, and the other member has waited longer.
  await send('bob', 'bob2');
  await ack(other);
  await send('ann', 'ann3');
  expect(one.had.at(-1)).toBe('ann3');
  delivery.subscriptions.end(one.consumer);
  await expect.poll(() => other.had).toEqual(['bob1', 'kim1', 'bob2', 'ann3']);
});
