import { expect, it } from 'vitest';
import { forwardedMeta, withoutOwnMeta } from './request-meta.ts';

it('passes on what vendors and W3C define', () => {
  const meta = {
    'claudecode/toolUseId': 'toolu_1',
    'com.example/mcp': { a: [1] },
    mcp: 1,
    tracestate: 'a=b',
    baggage: 'user=rosa',
    plain: null,
  };
  expect(forwardedMeta(meta)).toEqual(meta);
});

it.each([
  'progressToken',
  'traceparent',
  'io.modelcontextprotocol/clientCapabilities',
  'io.ModelContextProtocol/clientInfo',
  'org.modelcontextprotocol.api/x',
  'dev.mcp/x',
  'com.mcp.tools/x',
  'signalbox/error',
])('keeps %s to the connection on which it came', (name) => {
  expect(forwardedMeta({ [name]: 'x', other: 1 })).toEqual({ other: 1 });
  expect(forwardedMeta({ [name]: 'x' })).toBeUndefined();
});

it('drops a trace state and baggage that are no texts, or too long', () => {
  expect(forwardedMeta({ tracestate: 'a'.repeat(513), baggage: { a: 1 } })).toBeUndefined();
  expect(forwardedMeta({ tracestate: 7, baggage: 'a'.repeat(8193) })).toBeUndefined();
});

it('copies a field named __proto__ as a field', () => {
  const meta = JSON.parse('{"__proto__": {"admin": true}}');
  const passed = forwardedMeta(meta)!;
  expect(Object.hasOwn(passed, '__proto__')).toBe(true);
  expect(Object.getPrototypeOf(passed)).toBe(Object.prototype);
});

it('lets no server speak in the name of Signalbox', () => {
  const content = [{ type: 'text', text: 'x' }];
  const forged = {
    content,
    _meta: { 'signalbox/kept_result': { uri: 'x' }, 'Signalbox/error': 1, 'a/b': 2 },
  };
  expect(withoutOwnMeta(forged)).toEqual({ content, _meta: { 'a/b': 2 } });
  for (const result of [{ content }, { content, _meta: { 'signalboxes/a': 1 } }, { _meta: null }])
    expect(withoutOwnMeta(result)).toBe(result);
});
