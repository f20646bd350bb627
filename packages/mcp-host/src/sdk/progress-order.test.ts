import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { progressAhead } from './progress-order.ts';

const progress = (step: number): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 1, progress: step },
});
const result = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, result: {} });

/** Collects the messages that were passed on. The test itself ends the turns of the event loop. */
function observed() {
  const passed: (number | string)[] = [];
  const turns: (() => void)[] = [];
  const receive = progressAhead(
    (message) => {
      passed.push('id' in message ? `result ${message.id}` : Number(Object(message).params.progress));
    },
    (run) => turns.push(run),
  );
  return { passed, receive, turn: () => turns.shift()?.() };
}

test('a result waits a turn behind progress, and for nothing else', () => {
  const { passed, receive, turn } = observed();
  receive(result(1));
  receive(progress(1));
  receive(progress(2));
  receive(result(2));
  expect(passed).toEqual(['result 1', 1, 2]);
  turn();
  expect(passed).toEqual(['result 1', 1, 2, 'result 2']);
  receive(result(3));
  expect(passed.at(-1)).toBe('result 3');
});

test('nothing overtakes what waits, however it is mixed', () => {
  const { passed, receive, turn } = observed();
  for (const message of [progress(1), result(1), progress(2), progress(3), result(2), result(3)])
    receive(message);
  expect(passed).toEqual([1]);
  turn();
  expect(passed).toEqual([1, 'result 1', 2, 3]);
  turn();
  expect(passed).toEqual([1, 'result 1', 2, 3, 'result 2', 'result 3']);
});
