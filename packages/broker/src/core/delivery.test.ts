import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noFault } from '@signalbox/protocol';
import { openSqliteInboxStore } from '@signalbox/store';
import { expect, it } from 'vitest';
import { slowDisk } from '../../test/slow-disk.ts';
import { brokerSender, sentByBroker } from './broker-sender.ts';
import { Delivery } from './delivery.ts';

async function openDelivery() {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-delivery-'));
  const store = await openSqliteInboxStore({ file: join(directory, 'messages.db'), durability: 'full' });
  const ignore = (): void => {};
  const tap = { isOn: false, saw: ignore };
  const callbacks = { newLeaseId: () => 'lease', onError: ignore, onStoreFailed: ignore };
  const delivery = new Delivery({ ...callbacks, store, now: Date.now, maxDeliver: 5, fault: noFault, tap });
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
  // The disk has the first one; 16 MiB may wait behind it.
  for (let i = 0; i < 15; i++) expect(deliver(`m${i}`), `${i}`).toBeUndefined();
  const behind = deliver('one too many');
  expect(behind).toBeInstanceOf(Promise);
  disk.goOn();
  await behind;
  await delivery.flushed();
  expect(answers).toBe(17);
  expect(deliver('next')).toBeUndefined();
});
