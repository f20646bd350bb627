import { chmod, cp, mkdir } from 'node:fs/promises';
import { type AddressInfo, createServer, type ListenOptions } from 'node:net';
import { join } from 'node:path';
import { type ConnectOptions, connectBroker } from '@signalbox/client';
import { startBrokerProcess, startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { reached } from '../support/broker/broker-with-clients.ts';

const first = () => 0;
const second = () => 0.999;

test('Clients of two brokers begin at any of them; after kill -9 of one its client is at the other at once.', async () => {
  await using directory = await tempDir();
  await using kept = await startTestBroker({ durability: 'process' });
  const token = await kept.tokenOf('rosa');
  // Both know the same tokens, and they share no messages.
  await kept.broker.stop();
  await cp(kept.dataDir, join(directory.path, 'copy'), { recursive: true });
  await kept.restart();
  await using killed = await startBrokerProcess(join(directory.path, 'copy'));
  const url = `${killed.url},${kept.url}`;
  const connect = async (random: () => number) => {
    const waits: unknown[] = [];
    const client = await connectBroker({
      url,
      token,
      agent: 'rosa',
      random,
      log: ({ event, retryInMs }) => void (event === 'disconnected' && waits.push(retryInMs)),
    });
    return { client, waits };
  };
  const { client: other, waits: otherWaits } = await connect(second);
  await using _other = other;
  expect(other.url).toBe(kept.url);
  await other.close();
  const { client, waits } = await connect(first);
  await using _client = client;
  expect(client.url).toBe(killed.url);
  await client.deliver({ to: 'rosa', kind: 'note', id: 'early' });
  const gone = reached(client, 'reconnecting');
  await killed.kill();
  await gone;
  const sent = client.deliver({ to: 'rosa', kind: 'note', id: 'late' });
  await reached(client, 'ready');
  expect([client.url, waits, otherWaits]).toEqual([kept.url, [0], []]);
  expect(await sent).toMatchObject({ id: 'late', duplicate: false });
  expect((await client.peek()).map(({ id }) => id)).toEqual(['late']);
  const { client: late, waits: lateWaits } = await connect(first);
  await using _late = late;
  expect([late.url, lateWaits]).toEqual([kept.url, [0]]);
});

test('An address that refuses, does not answer or is not safe leads to the next one; a refused token ends the client.', async () => {
  await using directory = await tempDir();
  await using broker = await startTestBroker({ durability: 'process' });
  const open = join(directory.path, 'open');
  await mkdir(open);
  await chmod(open, 0o777);
  await using unsafe = await listen({ path: join(open, 'broker.sock') });
  await using mute = await listen({ port: 0, host: '127.0.0.1' });
  const options = {
    token: await broker.tokenOf('rosa'),
    agent: 'rosa',
    random: first,
    connectTimeoutMs: 100,
  } satisfies Partial<ConnectOptions>;
  const refused = 'ws://127.0.0.1:9';
  const bad = [`unix:${unsafe.at}`, refused, `ws://127.0.0.1:${mute.at}`];
  // A broker that is slower than that gets its turn again.
  await using client = await connectBroker({
    ...options,
    url: [...bad, broker.url].join(','),
    waitForBroker: true,
  });
  expect(client.url).toBe(broker.url);
  expect(mute.visitors()).toBeGreaterThan(0);
  await expect(connectBroker({ ...options, url: bad.join(',') })).rejects.toMatchObject({
    code: 'untrusted_socket',
    message: expect.stringMatching(
      new RegExp(
        `${unsafe.at}.*; can't connect to ${refused}: .*; can't connect to .*no welcome within 100 ms$`,
      ),
    ),
  });
  await expect(
    connectBroker({ ...options, url: `unix:${unsafe.at},unix:${unsafe.at}x`, waitForBroker: true }),
  ).rejects.toMatchObject({ code: 'untrusted_socket' });
  const before = mute.visitors();
  await expect(
    connectBroker({
      ...options,
      connectTimeoutMs: 30_000,
      url: `${broker.url},ws://127.0.0.1:${mute.at}`,
      token: 'sbx_wrong',
      waitForBroker: true,
    }),
  ).rejects.toMatchObject({ code: 'unauthorized' });
  expect([unsafe.visitors(), mute.visitors()]).toEqual([0, before]);
});

/** Listens, takes connections and says nothing. `at` is the path or the port. */
async function listen(where: ListenOptions) {
  let visitors = 0;
  const server = createServer((socket) => {
    visitors++;
    socket.on('error', () => {}).resume();
  });
  await new Promise<void>((resolve) => server.listen(where, resolve));
  return {
    at: where.path ?? (server.address() as AddressInfo).port,
    visitors: () => visitors,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
