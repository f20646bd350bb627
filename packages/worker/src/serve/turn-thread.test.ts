import { expect, test } from 'vitest';
import { turnThreadOf } from './turn-thread.ts';

const message = {
  id: 'm1',
  from: { agent: 'walt', address: 'walt', role: 'writer' },
  to: 'rosa',
  kind: 'note',
  created_at: 0,
};

test('Notes that begin a thread go together; questions and messages of a thread go by it.', () => {
  expect(turnThreadOf(message)).toBeUndefined();
  expect(turnThreadOf({ ...message, kind: 'ask' })).toBe('m1');
  expect(turnThreadOf({ ...message, thread: 't1' })).toBe('t1');
  expect(turnThreadOf({ ...message, kind: 'reply', correlation_id: 'q1' })).toBe('q1');
});
