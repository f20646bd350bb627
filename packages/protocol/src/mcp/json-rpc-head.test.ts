import { expect, it } from 'vitest';
import { jsonRpcHead } from './json-rpc-head.ts';

it('finds id and method at the top level, at any position and beside any other fields', () => {
  const params = { id: 9, method: 'no', text: '{"id":8,\\"method\\":"x"', list: [{ id: 7 }, ['}', '"']] };
  for (const message of [
    { jsonrpc: '2.0', id: 3, method: 'tools/call', params },
    { params, jsonrpc: '2.0', method: 'tools/call', id: 'a"b\\c{' },
    { jsonrpc: '2.0', params, method: 'notifications/progress' },
    { result: params, id: -4 },
    { id: 5, error: params },
    { result: {} },
  ]) {
    const { id, method } = message as { id?: string | number; method?: string };
    const head = { ...(id !== undefined && { id }), ...(method !== undefined && { method }) };
    expect(jsonRpcHead(JSON.stringify(message))).toEqual(head);
    expect(jsonRpcHead(JSON.stringify(message, undefined, 2))).toEqual(head);
  }
});

it('finds nothing in what is no message, and never throws', () => {
  for (const text of [
    '',
    '[{"id":1}]',
    '"id"',
    '{"id":{}}',
    '{"id":tru',
    '{"id":1.5}',
    '{"id":"\u0001"}',
    '}}}{"id":1',
    '{"id"',
  ]) {
    expect(jsonRpcHead(text).id, text).toBeUndefined();
  }
});
