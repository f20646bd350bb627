import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { connectBroker } from '@signalbox/client';
import { startTestBroker, testAuthority } from '@signalbox/testing';
import { expect, it } from 'vitest';

const authority = await testAuthority();
const { ca } = authority;
const tls = await authority.issue({ names: ['127.0.0.1'] });

it('Handshakes are begun at their rate, and messages of those who are connected do not wait for them.', async () => {
  const handshakes = 20;
  await using broker = await startTestBroker({ tls, limits: { connections: { handshakes } } });
  await using rosa = await connectBroker({
    url: broker.url,
    token: await broker.token('rosa'),
    agent: 'rosa',
    ca,
  });
  await rosa.serve(['ask'], async () => ({ kind: 'reply', body: null }));
  let done = 0;
  const begun = performance.now();
  const flood = Array.from({ length: 40 }, () => {
    const socket = connectTls({ port: broker.port, host: '127.0.0.1', ca });
    return once(socket, 'secureConnect').then(() => {
      done++;
      socket.destroy();
    });
  });
  let asked = 0;
  for (const handshake of flood) {
    await handshake;
    const outcome = await rosa.request('rosa', 'ask', {}, { timeoutMs: 5000 });
    expect(outcome.status).toBe('completed');
    if (done < flood.length) asked++;
  }
  const seconds = (performance.now() - begun) / 1000;
  expect(flood.length / seconds).toBeLessThan(handshakes * 1.5);
  expect(asked).toBeGreaterThan(5);
});

it('Connections that never finish their handshake are ended in time, and displace only each other.', async () => {
  await using broker = await startTestBroker({
    tls,
    helloTimeoutMs: 2000,
    limits: { connections: { unauthenticated: 8 } },
  });
  const open = async (): Promise<Socket> => {
    const socket = connectTcp(broker.port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const silent = await Promise.all(Array.from({ length: 12 }, open));
  const half = await Promise.all(Array.from({ length: 12 }, open));
  // The beginning of a record of the handshake, and nothing after it.
  for (const socket of half) socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1]));
  await using rosa = await connectBroker({
    url: broker.url,
    token: await broker.token('rosa'),
    agent: 'rosa',
    ca,
  });
  await Promise.all([...silent, ...half].map((socket) => socket.destroyed || once(socket.resume(), 'close')));
  expect(rosa.state.name).toBe('ready');
});
