import { expect, test } from 'vitest';
import { type EventKind, eventKinds, faultEvents } from './plan.ts';

const options = { seed: 7, events: 200, atDefaults: 12, mailboxes: 2 };

test('A seed decides every event, and another seed other ones.', () => {
  const events = [...faultEvents(options)];
  expect(events).toHaveLength(200);
  expect([...faultEvents(options)]).toEqual(events);
  expect([...faultEvents({ ...options, seed: 8 })]).not.toEqual(events);
});

test('All kinds of events come in each round, and the last ones are those for which lease and heartbeat are the defaults.', () => {
  const events = [...faultEvents(options)];
  const round = Object.values(eventKinds).reduce((sum, { each }) => sum + each, 0);
  const counts = Map.groupBy(events.slice(0, round), ({ kind }) => kind);
  for (const [kind, { each }] of Object.entries(eventKinds))
    expect(counts.get(kind as EventKind)).toHaveLength(each);
  expect(events.map(({ isAtDefaults }) => isAtDefaults)).toEqual(events.map((_, at) => at >= 188));
  expect(new Set(events.slice(188).map(({ kind }) => kind))).toEqual(new Set(['stop', 'cut off', 'kill']));
});
