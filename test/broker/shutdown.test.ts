import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { areStoresInFiles, startTestBroker } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { connect, deliver, subscribe } from '../support/broker/wire-actions.ts';

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
