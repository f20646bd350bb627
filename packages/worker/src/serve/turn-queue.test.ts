import { expect, test } from 'vitest';
import { TurnQueue } from './turn-queue.ts';

function setUp(concurrency: number) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const queue = new TurnQueue<{ name: string; thread: string | undefined }>({
    concurrency,
    run: ({ name }) => {
      started.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    },
  });
  const add = (name: string, thread?: string) => queue.add({ name, thread });
  const end = async (name: string) => {
    ends.get(name)!();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, started, add, end };
}

test('Turns begin in the order in which their messages came, no more at a time than may.', async () => {
  const { started, add, end } = setUp(2);
  for (const name of ['a', 'b', 'c', 'd']) add(name);
  expect(started).toEqual(['a', 'b']);
  await end('b');
  expect(started).toEqual(['a', 'b', 'c']);
});

test('Two turns of one thread never run at the same time; another thread passes.', async () => {
  const { started, add, end } = setUp(2);
  add('a', 't');
  add('b', 't');
  add('c', 'u');
  expect(started).toEqual(['a', 'c']);
  await end('c');
  expect(started).toEqual(['a', 'c']);
  await end('a');
  expect(started).toEqual(['a', 'c', 'b']);
});

test('A stopped queue begins nothing, and gives back what waits.', async () => {
  const { queue, started, add, end } = setUp(1);
  add('a');
  add('b');
  expect(queue.stop().map(({ name }) => name)).toEqual(['b']);
  await end('a');
  await queue.idle();
  add('c');
  expect(started).toEqual(['a']);
});

test('A queue starts only what may be chosen now, and looks again when it is told to.', async () => {
  let allowed = ['b'];
  const started: string[] = [];
  const queue = new TurnQueue<{ name: string; thread: undefined }>({
    concurrency: 2,
    choose: (jobs) => jobs.find(({ name }) => allowed.includes(name)),
    run: async ({ name }) => void started.push(name),
  });
  for (const name of ['a', 'b', 'c']) queue.add({ name, thread: undefined });
  expect(started).toEqual(['b']);
  await queue.idle();
  allowed = ['a', 'c'];
  queue.startNext();
  expect(started).toEqual(['b', 'a', 'c']);
});
