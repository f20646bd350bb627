import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import {
  areStoresInFiles,
  connectWire,
  startBrokerProcess,
  startTestBroker,
  tempDir,
} from '@signalbox/testing';
import { expect, it } from 'vitest';
import { admin, connect, deliver, subscribe } from '../support/broker/wire-actions.ts';

it('answers before it closes all that it committed, when SIGTERM comes in the middle of a stream', async () => {
  await using dir = await tempDir();
  const dataDir = `${dir.path}/data`;
  for (let round = 0; round < 3; round++) {
    const broker = await startBrokerProcess(dataDir);
    const credentials = { agent: 'operator', token: await broker.operatorToken() };
    await using operator = await connectWire(broker.url, credentials);
    await admin(operator, 'token_issue', { agent: `bob-${round}`, role: 'worker' });
    const isGoing = () => operator.received.some(({ type }) => type === 'going_away');
    const sending = (async () => {
      for (let i = 0; !isGoing(); i++) {
        for (let j = 0; j < 20; j++) {
          operator.send(
            { type: 'deliver', to: `bob-${round}`, id: `r${round}-${i}-${j}`, kind: 'note' },
            '{}',
          );
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    await operator.next('delivered', { id: `r${round}-5-0` });
    expect(await broker.terminate()).toBe(0);
    expect((await operator.closed).code).toBe(1001);
    await sending;
    const receipted = operator.received.filter(({ type }) => type === 'delivered').map(({ id }) => id);
    await using again = await startBrokerProcess(dataDir);
    await using reader = await connectWire(again.url, credentials);
    const stored: unknown[] = [];
    for (let cursor: unknown = '0.0'; cursor !== undefined; ) {
      const page = await admin(reader, 'history', { since: 0, limit: 1000, cursor });
      for (const { id } of page.messages as { id: string }[])
        if (id.startsWith(`r${round}-`)) stored.push(id);
      cursor = page.cursor;
    }
    expect(new Set(receipted)).toEqual(new Set(stored));
    expect(stored.length).toBeGreaterThan(100);
    expect(await again.terminate()).toBe(0);
  }
});

it.runIf(areStoresInFiles)(
  'passes its fault points in the order of the work: commit, push, receipt, ack',
  async () => {
    const passed: string[] = [];
    await using broker = await startTestBroker({ fault: (point) => void passed.push(point) });
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    await subscribe(bob);
    await deliver(alice, 'bob', 'a');
    const { seq } = await bob.next('message');
    bob.send({ type: 'ack', seqs: [seq], request_id: 'done' });
    await bob.next('ack_result');
    expect(passed).toEqual([
      'broker.deliver.before_commit',
      'broker.deliver.after_commit',
      'broker.push.before',
      'broker.push.after',
      'broker.receipt.before',
      'broker.ack.before_commit',
      'broker.ack.after_commit',
    ]);
  },
);

it('survives a handshake that comes while it stops', async () => {
  await using broker = await startTestBroker();
  const socket = connectSocket(broker.port, '127.0.0.1');
  await once(socket, 'connect');
  const ended = once(socket.resume(), 'close');
  await using alice = await connect(broker, 'alice');
  const stopping = broker.broker.stop();
  const { port } = broker;
  socket.write(
    `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Protocol: signalbox.v1\r\n\r\n`,
  );
  await stopping;
  await ended;
  expect((await alice.closed).code).toBe(1001);
});
