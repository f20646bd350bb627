import { readJson } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { mendedMessage, mendedText } from './mended-message.ts';

const rpc = { jsonrpc: '2.0' };
const method = 'notifications/tools/list_changed';
const words = { code: -32000, message: 'no', data: { a: 1 } };

test.each([
  ['null for parameters', { ...rpc, method, params: null }, { ...rpc, method }],
  ['parameters that are no object', { ...rpc, method, params: [1] }, { ...rpc, method }],
  ['null for _meta', { ...rpc, method, params: { a: 1, _meta: null } }, { ...rpc, method, params: { a: 1 } }],
  [
    'null for the _meta of a result',
    { ...rpc, id: 1, result: { _meta: null } },
    { ...rpc, id: 1, result: {} },
  ],
  [
    'null for the error of a result',
    { ...rpc, id: 1, result: {}, error: null },
    { ...rpc, id: 1, result: {} },
  ],
  [
    'null for the result of an error',
    { ...rpc, id: 1, result: null, error: words },
    { ...rpc, id: 1, error: words },
  ],
  [
    'a code of another type',
    { ...rpc, id: 1, error: { ...words, code: 'E_NO' } },
    { ...rpc, id: 1, error: { ...words, code: -32603 } },
  ],
  [
    'words for an error',
    { ...rpc, id: 1, error: 'no' },
    { ...rpc, id: 1, error: { code: -32603, message: 'no' } },
  ],
  [
    'an error without words',
    { ...rpc, id: 1, error: { code: 5, message: null } },
    { ...rpc, id: 1, error: { code: 5, message: 'an error without a message' } },
  ],
])('A message with %s is mended, as an object and as text.', (_, sent, mended) => {
  expect(mendedMessage(sent)).toEqual(mended);
  expect(JSON.parse(mendedText(JSON.stringify(sent)))).toEqual(mended);
});

test('Members that JSON-RPC does not know are left out of a message.', () => {
  for (const message of [
    { ...rpc, id: 1, error: words },
    { ...rpc, id: 1, result: {} },
    { ...rpc, method },
  ])
    expect(mendedMessage({ ...message, extra: 1 })).toEqual(message);
});

test.each([
  { ...rpc, method },
  { ...rpc, id: 1, method: 'ping', params: {} },
  { ...rpc, id: 1, result: { content: [], structuredContent: { _meta: null, error: null, code: 'x' } } },
  { ...rpc, id: 1, error: words },
])('A message that clients accept is the same: %j', (sent) => {
  expect(mendedMessage(sent)).toBe(sent);
  const text = ` ${JSON.stringify(sent)}`;
  expect(mendedText(text)).toBe(text);
});

test.each([{}, { result: null }, { result: [] }, { result: 'x' }, { error: {} }, { error: 7 }])(
  'An answer that is neither a result nor an error has no meaning: %j',
  (outcome) => {
    expect(mendedMessage({ ...rpc, id: 1, ...outcome })).toBeUndefined();
  },
);

test('Text is mended with its long numbers and its bytes, in lists of messages too; what is no JSON stays.', () => {
  const bytes = Buffer.from('"ä\u2028"').toString('latin1');
  const number = '12345678901234567890.5';
  const text = `[{"jsonrpc":"2.0","id":1,"result":{"_meta":null,"a":${number},"b":${bytes}}}]`;
  const mended = mendedText(text);
  expect(mended).toBe(`[{"jsonrpc":"2.0","id":1,"result":{"a":${number},"b":${bytes}}}]`);
  expect(readJson(mended)).toBeDefined();
  expect(mendedText('{"_meta":null')).toBe('{"_meta":null');
});
