import { jsonRpcHead } from '@signalbox/protocol/json-lines';
import { expect, test } from 'vitest';
import { messageHead } from './message-head.ts';

const nested = { id: 9, jsonrpc: '2.0', method: 'no', list: [{ id: 'x' }], text: ',"id":8}' };
const heads = [
  { id: 1, method: 'tools/call', params: nested },
  { id: 'a"b\\', method: 'tools/call', params: nested },
  { id: 'é', method: 'a\\b', params: nested },
  { method: 'notifications/progress', params: nested },
  { method: 'notifications/cancelled', params: { requestId: 1, id: 2 } },
  { id: -4, result: nested },
  { id: 'x', error: { code: 1, data: nested } },
  { result: nested, id: 0 },
];

/** Every order of the members of a message. */
function orders<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, at) => orders(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

test('reads the same from both ends of a line as member by member, in every order', () => {
  let compared = 0;
  for (const message of heads) {
    for (const members of orders(Object.entries({ jsonrpc: '2.0', ...message }))) {
      const line = JSON.stringify(Object.fromEntries(members));
      expect(messageHead(line), line).toEqual(jsonRpcHead(line));
      compared++;
    }
  }
  expect(compared).toBeGreaterThan(100);
});

test('an id inside of the parameters is not taken for that of the message', () => {
  for (const line of [
    '{"method":"a","params":{"id":1}}',
    '{"method":"a","params":[{"x":",\\"id\\":1}"}]}',
    '{"method":"a","params":",\\"id\\":1}"}',
    '{"jsonrpc":"2.0","method":"a","params":{"b":1,"id":1}}',
    '{"result":{"b":1,"id":1}}',
  ])
    expect(messageHead(line).id, line).toBeUndefined();
});

test('what is no message has no head', () => {
  for (const line of [
    '',
    'x',
    '[{"id":1}]',
    '{"id":{}}',
    '{"id":1.5,"method":"a"}',
    '{"id":007,"method":"a"}',
    '{"id":"\u0001","result":1}',
  ])
    expect(messageHead(line), line).toEqual(jsonRpcHead(line));
});
