import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { OpenLane } from './open-lane.ts';

test('Acks go with the next request, or when their time is over, or at the end of the lane.', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-test-lane-'));
  await using cleaning = new AsyncDisposableStack();
  cleaning.defer(() => rm(directory, { recursive: true, force: true }));
  const server = createServer();
  const path = join(directory, 'orchestrator.sock');
  server.listen(path);
  await once(server, 'listening');
  cleaning.defer(() => void server.close());

  const opened = Promise.withResolvers<void>();
  const timers: (() => void)[] = [];
  let onReply = (): void => {};
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const lane: OpenLane = new OpenLane({
    ...{ orchestrator: 'orchestrator', address: 'ann', id: 'lane-1', path, ticket: 'ours', proof: 'theirs' },
    clock: {
      startTimer: (run) => {
        timers.push(run);
        return () => {};
      },
    },
    receiver: () => ({ received: () => onReply(), notBegun: () => {}, lost: () => {} }),
    opened: opened.resolve,
    over: () => {},
  });
  const [socket] = await connected;
  const lines = createInterface(socket)[Symbol.asyncIterator]();
  const read = async (): Promise<unknown> => JSON.parse((await lines.next()).value as string);
  const request = (id: string): void => {
    lane.request({ type: 'deliver', id, to: 'orchestrator', kind: 'mcp_request' }, '{}', {
      remainingMs: 1_000,
      isFirst: true,
    });
  };
  const replyTo = async (id: string): Promise<void> => {
    const replied = new Promise<void>((resolve) => {
      onReply = resolve;
    });
    socket.write(`${JSON.stringify({ type: 'reply', id, kind: 'mcp_reply', body: true })}\n{}\n`);
    await replied;
  };
  expect(await read()).toMatchObject({ type: 'lane', secret: 'ours' });
  socket.write(`${JSON.stringify({ type: 'lane', lane: 'lane-1', secret: 'theirs' })}\n`);
  await opened.promise;

  request('request-1');
  expect(await read()).toMatchObject({ type: 'request', id: 'request-1', first: true });
  await read();
  await replyTo('request-1');
  lane.ack('request-1');
  request('request-2');
  expect(await read()).toEqual({ type: 'ack', ids: ['request-1'] });
  expect(await read()).toMatchObject({ type: 'request', id: 'request-2' });
  await read();

  await replyTo('request-2');
  lane.ack('request-2');
  expect(timers).toHaveLength(1);
  timers[0]!();
  expect(await read()).toEqual({ type: 'ack', ids: ['request-2'] });

  request('request-3');
  expect(await read()).toMatchObject({ type: 'request', id: 'request-3' });
  await read();
  await replyTo('request-3');
  lane.ack('request-3');
  lane.close();
  expect(await read()).toEqual({ type: 'ack', ids: ['request-3'] });
  expect((await lines.next()).done).toBe(true);
});
