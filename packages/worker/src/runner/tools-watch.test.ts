import { expect, test } from 'vitest';
import { ToolsWatch } from './tools-watch.ts';

function watched() {
  const told: string[] = [];
  const timers = new Set<() => void>();
  const watch = new ToolsWatch({
    lostAfterMs: 5000,
    startTimer: (run) => {
      timers.add(run);
      return () => timers.delete(run);
    },
    onReady: () => told.push('ready'),
    onLost: () => told.push('lost'),
    onBack: () => told.push('back'),
  });
  const take = (event: 'connected' | 'listed' | 'ended', consumer: string) => watch.take({ event, consumer });
  const pass = () => {
    for (const run of timers) run();
    timers.clear();
  };
  return { told, watch, take, pass };
}

test('an agent is ready once, and loses its tools when its last session has ended for a while', () => {
  const { told, take, pass } = watched();
  take('connected', 'a');
  take('listed', 'a');
  take('connected', 'b');
  take('listed', 'b');
  take('ended', 'a');
  pass();
  expect(told).toEqual(['ready']);
  take('ended', 'b');
  expect(told).toEqual(['ready']);
  pass();
  expect(told).toEqual(['ready', 'lost']);
  take('connected', 'b');
  take('ended', 'b');
  pass();
  expect(told).toEqual(['ready', 'lost', 'back', 'lost']);
});

test('a session that comes back in time loses nothing, nor one whose client never listed the tools', () => {
  const { told, take, pass } = watched();
  take('connected', 'a');
  take('ended', 'a');
  pass();
  take('connected', 'a');
  take('listed', 'a');
  take('ended', 'a');
  take('connected', 'a');
  pass();
  expect(told).toEqual(['ready']);
});

test('sessions of an earlier process do not count, and nothing is reported after the end', () => {
  const { told, watch, take, pass } = watched();
  take('listed', 'old');
  take('ended', 'old');
  pass();
  expect(told).toEqual([]);
  take('connected', 'a');
  take('listed', 'a');
  watch.stop();
  take('ended', 'a');
  pass();
  expect(told).toEqual(['ready']);
});
