import type { BrokerClient } from '@signalbox/client';
import { expect, test } from 'vitest';
import { SharedAnswers } from './shared-answers.ts';

/** A client whose answers to `listConnected` are numbered, and the clock by which answers become too old. */
function setUp() {
  const time = { now: 0 };
  const asked = { connected: 0, tokens: 0 };
  const client = {
    listConnected: async () => ++asked.connected,
    admin: async () => ++asked.tokens,
  } as unknown as BrokerClient;
  const shared = new SharedAnswers(() => time.now);
  const read = async (reader: string, of = client) => {
    const { client: sharing, ageMs } = shared.clientOf(of, reader);
    return [await sharing.listConnected(), ageMs()];
  };
  return { time, asked, client, shared, read };
}

test('Reads of the same within a second share an answer and are told its age, and a repeated read gets a new one.', async () => {
  const { time, read } = setUp();
  expect(await read('ann agents')).toEqual([1, 0]);
  time.now = 600;
  expect(await read('bob agents')).toEqual([1, 600]);
  expect(await read('bob agents')).toEqual([2, 0]);
  expect(await read('ann agents')).toEqual([2, 0]);
  time.now = 1600;
  expect(await read('cid agents')).toEqual([3, 0]);
});

test('A command makes the next read ask again.', async () => {
  const { shared, read } = setUp();
  await read('ann agents');
  shared.forget();
  expect(await read('bob agents')).toEqual([2, 0]);
});

test('A failed answer is shared with nobody: whoever waited for it asks.', async () => {
  const { client, read } = setUp();
  const ended = Promise.withResolvers<never>();
  const ending = { ...client, listConnected: () => ended.promise } as BrokerClient;
  const first = read('ann agents', ending);
  const second = read('bob agents');
  ended.reject(new Error('signed out'));
  await expect(first).rejects.toThrow('signed out');
  expect(await second).toEqual([1, 0]);
});

test('A read that the audit log records is made by each person.', async () => {
  const { asked, client, shared } = setUp();
  for (const reader of ['ann', 'bob']) await shared.clientOf(client, reader).client.admin('token_list', {});
  expect(asked.tokens).toBe(2);
});
