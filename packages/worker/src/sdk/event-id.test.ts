import { expect, test } from 'vitest';
import { answerStreamOf, eventIdOf, readEventId, requestOf } from './event-id.ts';

test.each([1, 0, -3, 'a', '1', '', 'ä "\\ \n'])(
  'The id of an event tells which request %j its stream answers.',
  (id) => {
    const place = { stream: answerStreamOf(id)!, number: 12 };
    expect(readEventId(eventIdOf(place))).toEqual(place);
    expect(requestOf(place.stream)).toBe(id);
  },
);

test('An id that is too long for a header, or that no face made, is none.', () => {
  expect(answerStreamOf('x'.repeat(1000))).toBeUndefined();
  for (const id of ['', '7', 'MQ', 'MQ.', '.1', 'MQ.x', 'MQ.-1', 'a b.1', `${'M'.repeat(600)}.1`])
    expect(readEventId(id)).toBeUndefined();
  // The second one is the number 1 in JSON, but names the stream that answers no request.
  for (const stream of ['bm9uZQ', '~MQ', 'W10', 'bnVsbA']) expect(requestOf(stream)).toBeUndefined();
});
