import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClientFrame, type LaneFrame, type Message, parseClientFrame } from '@signalbox/protocol';
import { expect, test, vi } from 'vitest';
import { LaneSocket } from './lane-socket.ts';
import type { ServedLane } from './served-lane.ts';
import { ServingLanes } from './serving-lanes.ts';

const from = { agent: 'rosa', address: 'rosa#1', role: 'worker' };
const usual = { messages: 1_000, burst: 1_000, bytes: 1_000_000, ttl_ms: 60_000 };

/** The lanes of an orchestrator under a clock of the test, and one worker on them that the broker has vouched for at time 0. */
async function startLanes({ accepts = true, limits = usual } = {}) {
  await using starting = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-lanes-'));
  starting.defer(() => rm(directory, { recursive: true, force: true }));
  let now = 0;
  let timers: { at: number; run: () => void }[] = [];
  const taken: { lane: ServedLane; message: Message; isFirst: boolean }[] = [];
  const sent: ClientFrame[] = [];
  const lanes = starting.use(
    new ServingLanes({
      ...{ path: join(directory, 'lanes.sock'), address: 'orchestrator', send: (frame) => sent.push(frame) },
      runner: {
        acceptFromLane: (lane, message, isFirst) => accepts && taken.push({ lane, message, isFirst }) > 0,
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
    ...{ lanes, socket, next, taken, sent, worker, arrived },
    path: join(directory, 'lanes.sock'),
    request: (id: string, body = '{}') =>
      worker.send({ type: 'request', id, kind: 'mcp_request', remaining_ms: 90_000 }, body),
    /** Opens a lane of its own for a worker. */
    async open(lane: string, of: typeof from, limits = usual) {
      lanes.granted({ type: 'lane', lane, ticket: lane, proof: 'p', from: of, limits });
      const socket = connect(join(directory, 'lanes.sock'));
      const frames: LaneFrame[] = [];
      const receive = (frame: LaneFrame) => void frames.push(frame);
      const opened = new LaneSocket({ socket, maxLength: 100_000, over: () => {}, receive });
      opened.send({ type: 'lane', lane, secret: lane });
      await expect.poll(() => frames.length).toBe(1);
      const request = (id: string) =>
        opened.send({ type: 'request', id, kind: 'mcp_request', remaining_ms: 90_000 }, '{}');
      return { frames, request, [Symbol.dispose]: () => void socket.destroy() };
    },
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
  stack.taken[0]!.lane.reply('a', { kind: 'mcp_reply', text: '{}' }, () => {});
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
    lane.reply(message.id, { kind: 'mcp_reply', text }, (how) => ends.push(how));
  const closed = once(stack.socket, 'close');
  stack.pass(10_000);
  await expect.poll(() => ends).toEqual(['waits', 'waits', 'waits']);
  stack.socket.resume();
  await closed;
});

test('Large requests that arrive together do not end their lane.', async () => {
  await using stack = await startLanes();
  const body = JSON.stringify('x'.repeat(40_000));
  for (let i = 0; i < 8; i++) stack.request(`r${i}`, body);
  await expect.poll(() => stack.taken.length).toBe(8);
});

test('A worker whose replies were long is read again as soon as it has them.', async () => {
  await using stack = await startLanes();
  stack.request('a');
  await expect.poll(() => stack.taken.length).toBe(1);
  const text = JSON.stringify('x'.repeat(9 * 1024 * 1024));
  stack.taken[0]!.lane.reply('a', { kind: 'mcp_reply', text }, () => {});
  expect(await stack.next()).toMatchObject({ type: 'reply', id: 'a' });
  stack.request('b');
  await expect.poll(() => stack.taken.length).toBe(2);
});

test('The lanes end although a worker does not read.', async () => {
  await using stack = await startLanes();
  stack.request('a');
  await expect.poll(() => stack.taken.length).toBe(1);
  stack.socket.pause();
  const ends: string[] = [];
  const text = JSON.stringify('x'.repeat(4 * 1024 * 1024));
  stack.taken[0]!.lane.reply('a', { kind: 'mcp_reply', text }, (how) => ends.push(how));
  const over = stack.lanes[Symbol.asyncDispose]();
  stack.pass(250);
  await vi.waitFor(() => {
    stack.pass(250);
    expect(ends).toEqual(['waits']);
  });
  await over;
});

test('Requests that are not taken cost their worker its rate, too.', async () => {
  await using stack = await startLanes({ accepts: false, limits: { ...usual, messages: 1, burst: 2 } });
  for (const id of ['a', 'b', 'c']) {
    stack.request(id);
    expect(await stack.next()).toMatchObject({ type: 'use_broker', id });
  }
  stack.request('d');
  // A request of another worker that comes after it is answered at once, and shows that it has been read.
  using other = await stack.open('l3', { agent: 'bob', address: 'bob#1', role: 'worker' });
  other.request('e');
  await expect.poll(() => other.frames.at(-1)).toMatchObject({ type: 'use_broker', id: 'e' });
  expect(stack.arrived).toEqual([]);
});

test('A worker that acks nothing keeps few replies in memory, and only for a while the lane that it has left.', async () => {
  await using stack = await startLanes();
  const ends: string[] = [];
  for (const upTo of [150, 300]) {
    const from = stack.taken.length;
    for (let i = from; i < upTo; i++) stack.request(`r${i}`);
    await expect.poll(() => stack.taken.length).toBe(upTo);
    for (const { lane, message } of stack.taken.slice(from))
      lane.reply(message.id, { kind: 'mcp_reply', text: '{}' }, (how) => ends.push(how));
  }
  expect(ends).toEqual(Array(44).fill('waits'));
  const closed = once(stack.socket, 'close');
  stack.lanes.stand({ type: 'lanes', ended: [{ lane: 'l1', cancels: false }], watched: false });
  stack.pass(10_000);
  await closed;
  await expect.poll(() => ends.length).toBe(300);
});

test('A worker has one rate, however often it opens a lane.', async () => {
  await using stack = await startLanes({ limits: { ...usual, messages: 1, burst: 2 } });
  for (const id of ['a', 'b', 'c']) stack.request(id);
  await expect.poll(() => stack.taken.length).toBe(3);
  using second = await stack.open('l2', from, { ...usual, messages: 1, burst: 2 });
  second.request('d');
  await expect.poll(() => stack.taken.length).toBe(4);
  second.request('e');
  // A request of another worker that comes after it is taken at once, and shows that it has been read.
  using other = await stack.open('l3', { agent: 'bob', address: 'bob#1', role: 'worker' });
  other.request('f');
  const taken = () => stack.taken.map(({ message }) => message.id);
  await expect.poll(taken).toContain('f');
  expect(taken()).toEqual(['a', 'b', 'c', 'd', 'f']);
});

test('A request that has waited unread is not believed to be the first, until its worker acks a later reply.', async () => {
  await using stack = await startLanes({ limits: { ...usual, messages: 1, burst: 2 } });
  const send = (...ids: string[]) => {
    for (const id of ids)
      stack.worker.send({ type: 'request', id, kind: 'mcp_request', remaining_ms: 9_000, first: true }, '{}');
  };
  const firsts = () =>
    stack.taken.map(({ message, isFirst }) => (isFirst ? message.id : `not ${message.id}`));
  const reply = (id: string) => {
    const { lane } = stack.taken.find(({ message }) => message.id === id)!;
    lane.reply(id, { kind: 'mcp_reply', text: '{}' }, () => {});
  };
  const pass = (ms: number) => {
    stack.pass(ms);
    stack.lanes.stand({ type: 'lanes', ended: [], watched: false });
  };
  send('a', 'b', 'c', 'd', 'e');
  await expect.poll(() => stack.taken.length).toBe(3);
  // Another worker may have sent the others again in this time.
  pass(2_500);
  expect(firsts()).toEqual(['a', 'b', 'c', 'not d', 'not e']);
  reply('a');
  pass(2_500);
  reply('b');
  // This ack may have been written while the lane was not read.
  stack.worker.send({ type: 'ack', ids: ['a'] });
  send('f');
  stack.worker.send({ type: 'ack', ids: ['b'] });
  send('g');
  await expect.poll(firsts).toEqual(['a', 'b', 'c', 'not d', 'not e', 'not f', 'g']);
});

test('Reports of calls can be read by the broker, also if their ids are as long as ids may be.', async () => {
  await using stack = await startLanes();
  stack.lanes.stand({ type: 'lanes', ended: [], watched: true });
  const ids = Array.from({ length: 60 }, (_, at) => String(at).padStart(64, '\\'));
  for (const id of ids)
    stack.worker.send({ type: 'request', id, kind: 'mcp_request', remaining_ms: 9_000, thread: id }, '{}');
  await expect.poll(() => stack.taken.length).toBe(ids.length);
  for (const { lane, message } of stack.taken)
    lane.reply(message.id, { kind: 'mcp_reply', text: '{}' }, () => {});
  stack.pass(100);
  const reports = stack.sent.flatMap((frame) => {
    const { frame: read } = parseClientFrame(JSON.stringify(frame));
    return read?.type === 'lane_calls' ? [read] : [];
  });
  const counts = reports.flatMap(({ begun }) => begun.map(({ calls }) => calls));
  expect(counts.reduce((sum, calls) => sum + calls, 0)).toBe(ids.length);
  expect(reports.flatMap(({ calls = [] }) => calls).map(({ id }) => id)).toEqual([...ids, ...ids]);
});
