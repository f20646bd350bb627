import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LaneFrame, Message } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { LaneSocket } from './lane-socket.ts';
import type { ServedLane } from './served-lane.ts';
import { ServingLanes } from './serving-lanes.ts';

const from = { agent: 'rosa', address: 'rosa#1', role: 'worker' };
const limits = { messages: 1_000, burst: 1_000, bytes: 1_000_000, ttl_ms: 60_000 };

/** The lanes of an orchestrator under a clock of the test, and one worker on them that the broker has vouched for at time 0. */
async function startLanes() {
  await using starting = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-lanes-'));
  starting.defer(() => rm(directory, { recursive: true, force: true }));
  let now = 0;
  let timers: { at: number; run: () => void }[] = [];
  const taken: { lane: ServedLane; message: Message }[] = [];
  const lanes = starting.use(
    new ServingLanes({
      ...{ path: join(directory, 'lanes.sock'), address: 'orchestrator', send: () => {} },
      runner: {
        acceptFromLane: (lane, message) => taken.push({ lane, message }) > 0,
        cancelFromLane: () => {},
        laneEnded: () => {},
        laneForbidden: () => {},
      },
      epoch: () => undefined,
      clock: {
        now: () => now,
        random: () => 0,
        startTimer: (run, ms) => {
          const timer = { at: now + ms, run };
          timers.push(timer);
          return () => {
            timers = timers.filter((other) => other !== timer);
          };
        },
      },
      log: () => {},
    }),
  );
  await lanes.listen();
  lanes.granted({ type: 'lane', lane: 'l1', ticket: 't', proof: 'p', from, limits });
  const socket = connect(join(directory, 'lanes.sock'));
  const arrived: LaneFrame[] = [];
  const heard: (() => void)[] = [];
  const worker = new LaneSocket({
    ...{ socket, maxLength: 100_000_000, over: () => {} },
    receive: (frame) => {
      arrived.push(frame);
      for (const listener of heard.splice(0)) listener();
    },
  });
  worker.send({ type: 'lane', lane: 'l1', secret: 't' });
  const next = async (): Promise<LaneFrame> => {
    if (arrived.length === 0) await new Promise<void>((resolve) => heard.push(resolve));
    return arrived.shift()!;
  };
  await next();
  const started = starting.move();
  return {
    ...{ lanes, socket, next, taken },
    request: (id: string) =>
      worker.send({ type: 'request', id, kind: 'mcp_request', remaining_ms: 90_000 }, '{}'),
    pass(ms: number) {
      now += ms;
      for (const timer of timers.filter(({ at }) => at <= now)) timer.run();
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
      const over = started.disposeAsync();
      this.pass(1_000);
      await over;
    },
  };
}

test('A request has the sender and the limits that the broker attests, and is taken only while the broker vouches for the lane.', async () => {
  await using stack = await startLanes();
  stack.request('a');
  await expect
    .poll(() => stack.taken.map(({ message }) => message))
    .toMatchObject([{ id: 'a', from, remaining_ms: 60_000 }]);
  stack.pass(3_001);
  stack.request('b');
  expect(await stack.next()).toEqual({ type: 'use_broker', id: 'b' });
  stack.lanes.stand({ type: 'lanes', ended: [], watched: false });
  stack.request('c');
  await expect.poll(() => stack.taken.map(({ message }) => message.id)).toEqual(['a', 'c']);
  stack.lanes.disconnected();
  stack.request('d');
  expect(await stack.next()).toEqual({ type: 'use_broker', id: 'd' });
  // What was begun before is still answered.
  stack.taken[0]!.lane.reply('a', 'mcp_reply', '{}', () => {});
  expect(await stack.next()).toEqual({ type: 'reply', id: 'a', kind: 'mcp_reply' });
});

test('A worker that does not read its replies for ten seconds loses its lane, and they count as unread.', async () => {
  await using stack = await startLanes();
  for (const id of ['a', 'b', 'c']) stack.request(id);
  await expect.poll(() => stack.taken.length).toBe(3);
  stack.socket.pause();
  const ends: string[] = [];
  const text = JSON.stringify('x'.repeat(4 * 1024 * 1024));
  for (const { lane, message } of stack.taken)
    lane.reply(message.id, 'mcp_reply', text, (how) => ends.push(how));
  const closed = once(stack.socket, 'close');
  stack.pass(10_000);
  await expect.poll(() => ends).toEqual(['waits', 'waits', 'waits']);
  stack.socket.resume();
  await closed;
});
