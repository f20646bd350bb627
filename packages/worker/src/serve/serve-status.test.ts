import { frameLimits } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { ServeStatus } from './serve-status.ts';

interface Shown {
  turns: number;
  kept?: number;
  private: {
    running: { id: string; since: number; calls?: { title: string }[] }[];
    kept?: { pid: number; thread: string; since: number }[];
  };
}

test('A status has the oldest turns that it has room for, and their open uses of tools in the room that is left.', () => {
  let announced: unknown;
  let now = 1_000;
  const announce = (told: unknown): void => {
    announced = told;
  };
  const status = new ServeStatus({ announce }, 'gemini', () => now);
  const shown = (): Shown => {
    const text = JSON.stringify(announced);
    expect(text.length).toBeLessThanOrEqual(frameLimits.statusLength);
    return JSON.parse(text);
  };
  const message = (id: string) => ({ id, from: 'walt', kind: 'ask', attempt: 1 });
  status.turnStarted(1, [message('m1'), message('m2')], 'T');
  status.toolsUsed(1, () => [{ title: 'x'.repeat(200), status: 'pending' }]);
  expect(shown().private.running).toEqual([
    {
      ...{ id: 'm1', from: 'walt', kind: 'ask', messages: 2, thread: 'T', since: 1_000 },
      calls: [{ title: 'x'.repeat(80), status: 'pending' }],
    },
  ]);
  // A turn that starts its program again, without its session, runs since its beginning.
  now = 2_000;
  status.turnStarted(1, [message('m1')], undefined);
  expect(shown().private.running).toEqual([{ id: 'm1', from: 'walt', kind: 'ask', since: 1_000 }]);
  const long = 'i'.repeat(64);
  status.counts({ waiting: 0, running: 64 });
  for (let turn = 1; turn <= 64; turn++) {
    status.turnStarted(turn, [message(`${turn}-${long}`.slice(0, 64))], long);
    status.toolsUsed(turn, () => Array(20).fill({ title: '\u0007'.repeat(80), status: 'in_progress' }));
  }
  const { turns, private: part } = shown();
  expect(turns).toBe(64);
  expect(part.running.map(({ id }) => id.split('-')[0])).toEqual(part.running.map((_, at) => String(at + 1)));
  expect(part.running.length).toBeGreaterThan(4);
  for (let turn = 2; turn <= 64; turn++) status.turnEnded(turn);
  expect(shown().private.running[0]?.calls).toHaveLength(3);
});

test('A status counts all kept processes, and names those that it has room for, the one that waits longest first.', () => {
  let announced: unknown;
  const announce = (told: unknown): void => {
    announced = told;
  };
  const status = new ServeStatus({ announce }, 'gemini');
  const shown = (): Shown => JSON.parse(JSON.stringify(announced));
  const process = (pid: number) => ({ pid, thread: `${pid}-${'t'.repeat(60)}`, since: pid });
  status.kept([process(1)]);
  expect(shown()).toMatchObject({ kept: 1, private: { running: [], kept: [process(1)] } });
  status.kept(Array.from({ length: 64 }, (_, at) => process(at + 1)));
  expect(JSON.stringify(announced).length).toBeLessThanOrEqual(frameLimits.statusLength);
  const named = shown().private.kept ?? [];
  expect(shown().kept).toBe(64);
  expect(named.map(({ pid }) => pid)).toEqual(named.map((_, at) => at + 1));
  expect(named.length).toBeGreaterThan(10);
  status.kept([]);
  expect(shown()).not.toHaveProperty('kept');
  expect(shown().private).toEqual({ running: [] });
});
