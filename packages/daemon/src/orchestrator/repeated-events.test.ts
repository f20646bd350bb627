import { expect, test } from 'vitest';
import { withoutRepetitions } from './repeated-events.ts';

function started() {
  const passed: Record<string, unknown>[] = [];
  const due: (() => void)[] = [];
  const tell = withoutRepetitions(
    (event) => passed.push(event),
    new Set(['lost', 'ready']),
    (_ms, run) => due.push(run),
  );
  const endMinute = () => {
    for (const run of due.splice(0)) run();
  };
  return { passed, due, tell, endMinute };
}

test('An event that a server repeats is passed on once, and then each minute the last one with their number, until a quiet minute.', () => {
  const { passed, due, tell, endMinute } = started();
  const lost = { event: 'lost', server: 'a', reason: 'gone' };
  const ready = { event: 'ready', server: 'a' };
  for (let n = 0; n < 100; n++) for (const event of [lost, ready]) tell(event);
  expect(passed).toEqual([lost, ready]);
  endMinute();
  expect(passed.splice(0)).toEqual([lost, ready, { ...ready, events: 198 }]);
  tell(lost);
  endMinute();
  expect(passed.splice(0)).toEqual([{ ...lost, events: 1 }]);
  endMinute();
  expect([passed, due]).toEqual([[], []]);
  tell(lost);
  expect(passed).toEqual([lost]);
});

test('Other reasons, servers and kinds of events are passed on at once; the number of reasons in a minute is bounded.', () => {
  const { passed, tell } = started();
  tell({ event: 'lost', server: 'a', reason: 'gone' });
  tell({ event: 'lost', server: 'b', reason: 'gone' });
  tell({ event: 'ejected', server: 'a' });
  tell({ event: 'ejected', server: 'a' });
  expect(passed.splice(0)).toHaveLength(4);
  for (let n = 0; n < 100; n++) tell({ event: 'lost', server: 'a', reason: `gone ${n}` });
  expect(passed).toHaveLength(7);
});
