import type { RequestOutcome } from '@signalbox/client';
import { SignalboxError, type Tool } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { callResultOf } from './call-result.ts';

const plain: Tool = { name: 'mcp_mail__send', inputSchema: { type: 'object' } };
const readOnly: Tool = { ...plain, annotations: { readOnlyHint: true } };
const idempotent: Tool = { ...plain, annotations: { idempotentHint: true } };

function completed(json: unknown): RequestOutcome {
  const from = { agent: 'orchestrator', address: 'orchestrator', role: 'orchestrator' };
  const header = { id: 're:1', from, to: 'a#mcp-1', kind: 'mcp_reply', created_at: 0 };
  return { status: 'completed', reply: { ...header, json }, mayHaveRun: true };
}

test.each([
  ['timed_out', 'tool_timeout'],
  ['connection_lost', 'mcp_server_unreachable'],
] as const)('a call that %s is %s only where repeating it does no harm', (status, code) => {
  const mayHaveRun: RequestOutcome = { status, mayHaveRun: true };
  expect(callResultOf(mayHaveRun, plain).error).toMatchObject({
    code: 'outcome_unknown',
    retryable: false,
    may_have_run: true,
  });
  for (const tool of [readOnly, idempotent]) {
    expect(callResultOf(mayHaveRun, tool).error).toMatchObject({ code, retryable: true, may_have_run: true });
  }
  expect(callResultOf({ status, mayHaveRun: false }, plain).error).toMatchObject({
    code,
    retryable: true,
    may_have_run: false,
  });
});

test('an undeliverable call that expired is a timeout, any other an unreachable server', () => {
  const expired: RequestOutcome = { status: 'undeliverable', reason: 'expired', mayHaveRun: false };
  expect(callResultOf(expired, plain).error?.code).toBe('tool_timeout');
  expect(callResultOf({ ...expired, reason: 'dead' }, plain).error?.code).toBe('mcp_server_unreachable');
  expect(callResultOf({ ...expired, mayHaveRun: true }, plain).error?.code).toBe('outcome_unknown');
});

test('a cancelled call says whether it may have run', () => {
  for (const mayHaveRun of [true, false]) {
    const { error } = callResultOf({ status: 'cancelled', mayHaveRun }, plain);
    expect(error).toMatchObject({ code: 'cancelled', may_have_run: mayHaveRun, retryable: false });
  }
});

test.each([
  ['quota_exceeded', 'quota_exceeded'],
  ['inbox_full', 'quota_exceeded'],
  ['storage_full', 'storage_full'],
  ['forbidden', 'permission_denied'],
  ['no_consumer', 'mcp_server_unreachable'],
  ['message_too_large', 'invalid_arguments'],
  ['something_new', 'internal'],
  ['constructor', 'internal'],
])('a request refused with %s reads %s and has not run', (given, code) => {
  const error = new SignalboxError(given, 'why', { retryable: true, details: { retryAfterMs: 1200 } });
  expect(callResultOf({ status: 'rejected', error, mayHaveRun: false }, plain).error).toMatchObject({
    code,
    message: 'why',
    may_have_run: false,
    retryable: true,
    retry_after_seconds: 2,
  });
});

test('a result arrives whole, with fields that nobody here knows', () => {
  const result = {
    success: true,
    text: 'hi',
    content: [{ type: 'text', text: 'hi', vendor: { kept: [1] } }],
    _meta: { m: 1 },
    extra: 'kept',
  };
  expect(callResultOf(completed({ result }), plain)).toEqual({ result });
});

test.each([
  ['data', { content: [], structuredContent: { n: 1 } }, [{ type: 'text', text: '{"n":1}' }]],
  [
    'data of a failure',
    { content: [], structuredContent: [7], isError: true },
    [{ type: 'text', text: '[7]' }],
  ],
  ['content beside data', { content: [{ type: 'text', text: 'x' }], structuredContent: { n: 1 } }, undefined],
  ['neither', { content: [] }, undefined],
])('a result with %s has content if it has any data', (_, result, content) => {
  const shown = content ? { ...result, content } : result;
  expect(callResultOf(completed({ result }), plain)).toEqual({ result: shown });
});

test('a tool that asks for input ends the round with its result as it is', () => {
  const asked = { resultType: 'input_required', requestState: 's', 'x-vendor': [1] };
  expect(callResultOf(completed({ input_required: asked }), plain)).toEqual({ result: asked });
  const other = { input_required: { resultType: 'complete' } };
  expect(callResultOf(completed(other), plain).error).toMatchObject({ code: 'internal' });
});

test('an error reply is handed on, and a code of a newer version reads unknown', () => {
  const error = {
    code: 'permission_denied',
    message: 'no',
    category: 'auth',
    retryable: false,
    may_have_run: false,
  };
  expect(callResultOf(completed({ error }), plain)).toEqual({ error });
  expect(callResultOf(completed({ error: { ...error, code: 'newer' } }), plain).error?.code).toBe('unknown');
});

test.each([{}, { data: 1 }, { result: 'text' }, null, 'x'])(
  'a reply that is neither result nor error (%j) is an error, never an empty success',
  (json) => {
    expect(callResultOf(completed(json), plain).error).toMatchObject({
      code: 'internal',
      may_have_run: true,
    });
  },
);
