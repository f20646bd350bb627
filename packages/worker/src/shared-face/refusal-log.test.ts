import { expect, test } from 'vitest';
import { refusalLog } from './refusal-log.ts';

test('of many refusals at once few are logged, and the next line says how many were left out', () => {
  const events: object[] = [];
  let now = 0;
  const refused = refusalLog(
    (event) => events.push(event),
    () => now,
  );
  const refusal = { code: 'unauthorized', message: 'no such token', retryable: false };
  for (let n = 0; n < 1_000; n++) refused(refusal);
  expect(events).toHaveLength(20);
  expect(events.at(-1)).toEqual({ event: 'face_refused', code: 'unauthorized', reason: 'no such token' });
  now = 1_000;
  refused(refusal);
  refused(refusal);
  expect(events).toHaveLength(21);
  expect(events.at(-1)).toMatchObject({ leftOut: 980 });
});
