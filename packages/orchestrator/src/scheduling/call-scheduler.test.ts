import { expect, test } from 'vitest';
import { type CallLimits, defaultCallLimits } from './call-limits.ts';
import { type CallScheduler, createCallScheduler, type NoTurn } from './call-scheduler.ts';
import type { QueuedCall } from './fair-queue.ts';

/** Makes tasks that end when told to, and counts how many run at once. */
function gatedTasks() {
  const open: (() => void)[] = [];
  let highest = 0;
  return {
    task: () =>
      new Promise<string>((resolve) => {
        highest = Math.max(
          highest,
          open.push(() => resolve('done')),
        );
      }),
    get running() {
      return open.length;
    },
    get highest() {
      return highest;
    },
    release: () => {
      for (const end of open.splice(0)) end();
    },
  };
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const never = new AbortController().signal;
const call = (worker = 'w', server = 's') => ({ worker, server });
const scheduler = (limits: Partial<CallLimits>, now?: () => number) =>
  createCallScheduler({ ...defaultCallLimits, ...limits }, now);

/** Runs a task when it is the call's turn, and ends the turn with it. */
async function run<T>(
  calls: CallScheduler,
  queued: QueuedCall,
  signal: AbortSignal,
  task: () => Promise<T>,
): Promise<NoTurn | { status: 'ran'; value: T }> {
  const turn = await calls.enter(queued, signal);
  if (turn.status !== 'begun') return turn;
  try {
    return { status: 'ran', value: await task() };
  } finally {
    turn.end();
  }
}

async function drain(gate: ReturnType<typeof gatedTasks>, calls: Promise<unknown>[]) {
  const all = Promise.all(calls);
  let open = true;
  all.finally(() => {
    open = false;
  });
  while (open) {
    await settle();
    gate.release();
  }
  return all;
}

test.each([
  ['in all', { global: 3, perServer: 9, perWorker: 9 }, 3],
  ['on one server', { global: 9, perServer: 2, perWorker: 9 }, 2],
  ['for one worker', { global: 9, perServer: 9, perWorker: 4 }, 4],
])('as many calls run at once as the limit %s allows, and all of them run', async (_what, limits, most) => {
  const calls = scheduler(limits);
  const gate = gatedTasks();
  const turns = Array.from({ length: 8 }, () => run(calls, call(), never, gate.task));
  expect(await drain(gate, turns)).toEqual(Array(8).fill({ status: 'ran', value: 'done' }));
  expect(gate.highest).toBe(most);
  expect([calls.running, calls.waiting]).toEqual([0, 0]);
});

test('a call that is aborted while it waits leaves the queue at once and never starts', async () => {
  const calls = scheduler({ perWorker: 1, waitingPerWorker: 1 });
  const gate = gatedTasks();
  const first = run(calls, call(), never, gate.task);
  const abort = new AbortController();
  let ran = false;
  const second = run(calls, call(), abort.signal, async () => {
    ran = true;
  });
  expect(await run(calls, call(), never, gate.task)).toMatchObject({ status: 'refused', waiting: 1 });
  abort.abort();
  expect(calls.waiting).toBe(0);
  const third = run(calls, call(), never, async () => 'third');
  expect(await second).toEqual({ status: 'aborted' });
  gate.release();
  expect([await first, await third]).toEqual([
    { status: 'ran', value: 'done' },
    { status: 'ran', value: 'third' },
  ]);
  expect(ran).toBe(false);
});

test('a call that is aborted before it comes never starts', async () => {
  const calls = scheduler({});
  expect(await run(calls, call(), AbortSignal.abort(), async () => 1)).toEqual({ status: 'aborted' });
  expect(await run(calls, call(), never, async () => 1)).toEqual({ status: 'ran', value: 1 });
});

test('a call that is aborted while it runs holds its slot until it ends', async () => {
  const calls = scheduler({ global: 1 });
  const gate = gatedTasks();
  const abort = new AbortController();
  const running = run(calls, call(), abort.signal, gate.task);
  abort.abort();
  await settle();
  expect(calls.running).toBe(1);
  gate.release();
  expect(await running).toEqual({ status: 'ran', value: 'done' });
});

test('what a call throws reaches its caller and frees its slot', async () => {
  const calls = scheduler({ global: 1 });
  const failing = run(calls, call(), never, () => {
    throw new Error('broken');
  });
  await expect(failing).rejects.toThrow('broken');
  expect(await run(calls, call(), never, async () => 1)).toEqual({ status: 'ran', value: 1 });
});

test('closing hands back what waits and what comes, and what runs goes on', async () => {
  const calls = scheduler({ perWorker: 1 });
  const gate = gatedTasks();
  const [running, waiting] = [1, 2].map(() => run(calls, call(), never, gate.task));
  calls.close();
  expect(await waiting).toEqual({ status: 'handed_back' });
  expect(await run(calls, call('other'), never, gate.task)).toEqual({ status: 'handed_back' });
  expect(gate.running).toBe(1);
  gate.release();
  expect(await running).toEqual({ status: 'ran', value: 'done' });
});

test('who is turned away learns how long calls take: from those that ended, until the queue itself moves', async () => {
  let now = 0;
  const calls = scheduler({ perWorker: 2, waitingPerWorker: 3 }, () => now);
  const gate = gatedTasks();
  const turns = [run(calls, call(), never, gate.task)];
  now = 10_000;
  await drain(gate, turns.splice(0));
  turns.push(...[1, 2, 3, 4, 5].map(() => run(calls, call(), never, gate.task)));
  const refused = { status: 'refused', reason: 'queue_full', waiting: 3 };
  expect(await run(calls, call(), never, gate.task)).toEqual({ ...refused, retryAfterSeconds: 5 });
  now = 13_000;
  gate.release();
  await settle();
  turns.push(...[1, 2].map(() => run(calls, call(), never, gate.task)));
  expect(await run(calls, call(), never, gate.task)).toEqual({ ...refused, retryAfterSeconds: 2 });
  await drain(gate, turns);
});

test('a server may have a limit of its own, and a new one lets calls start that fit in it now', async () => {
  const calls = scheduler({ perServer: 1, perWorker: 99, servers: { wide: 3 } });
  const gate = gatedTasks();
  const turns = ['wide', 'narrow'].flatMap((server) =>
    [1, 2, 3, 4].map(() => run(calls, call('w', server), never, gate.task)),
  );
  expect(calls.serverLoad('wide')).toEqual({ running: 3, waiting: 1 });
  expect(calls.serverLoad('narrow')).toEqual({ running: 1, waiting: 3 });
  expect(calls.serverLoad('absent')).toEqual({ running: 0, waiting: 0 });
  calls.setServerLimits({ narrow: 2 });
  expect(calls.serverLoad('narrow')).toEqual({ running: 2, waiting: 2 });
  // The calls over the new limit continue, and no other one starts until there is room again.
  expect(calls.serverLoad('wide')).toEqual({ running: 3, waiting: 1 });
  await drain(gate, turns);
  expect(calls.serverLoad('wide')).toEqual({ running: 0, waiting: 0 });
});
