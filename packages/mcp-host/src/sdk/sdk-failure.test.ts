import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { SignalboxError } from '@signalbox/protocol';
import { describe, expect, it } from 'vitest';
import { answerTooLarge } from '../too-large-answer.ts';
import {
  circuitOpen,
  errorOfFailure,
  redactedFailure,
  unreachable,
  withEarlierTry,
} from '../tool-calls/index.ts';
import { answeredFailure, failureOf, streamLost } from './sdk-failure.ts';

const tool = { name: 't', inputSchema: { type: 'object' as const } };
const unsafe = { server: 's', tool, repeatable: false, aborted: false };
const safe = { ...unsafe, repeatable: true };
const network = (code: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code }) });
const http = (status: number) => new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'x', { status });
const report = (thrown: unknown, facts = unsafe) => {
  const { code, retryable, may_have_run } = errorOfFailure(failureOf(thrown), facts);
  return { code, retryable, may_have_run };
};

describe('a failed call', () => {
  it('is a timeout or a cancellation by the signal, not by the error', () => {
    const error = new SdkError(SdkErrorCode.RequestTimeout, 'x');
    expect(report(error)).toEqual({ code: 'outcome_unknown', retryable: false, may_have_run: true });
    expect(report(error, safe)).toEqual({ code: 'tool_timeout', retryable: true, may_have_run: true });
    expect(report(error, { ...unsafe, aborted: true })).toEqual({
      code: 'cancelled',
      retryable: false,
      may_have_run: true,
    });
  });

  it.each([
    ['a closed connection', new SdkError(SdkErrorCode.ConnectionClosed, 'x')],
    ['a broken response stream', new ProtocolError(-32603, 'x', streamLost)],
    ['a reset connection', network('ECONNRESET')],
    ['a gateway error', http(502)],
  ])('has an unknown outcome after %s, unless the tool may be repeated', (_, error) => {
    expect(report(error)).toEqual({ code: 'outcome_unknown', retryable: false, may_have_run: true });
    expect(report(error, safe)).toEqual({
      code: 'mcp_server_unreachable',
      retryable: true,
      may_have_run: true,
    });
  });

  it.each([
    ['no connection', network('ECONNREFUSED'), true],
    ['no such host', network('EAI_AGAIN'), true],
    ['a message that was not sent', new SignalboxError('not_sent', 'x'), true],
    ['too many requests', http(429), true],
    ['missing authorization', http(401), false],
    ['a sign-in that is missing', new SignalboxError('needs_auth', 'x'), false],
    ['a token that was not granted', new SignalboxError('auth_failed', 'x'), false],
  ])('did not run after %s', (_, error, retryable) => {
    expect(report(error)).toEqual({ code: 'mcp_server_unreachable', retryable, may_have_run: false });
  });

  it('with an error of the server is told apart by its code', () => {
    expect(report(new ProtocolError(-32602, 'x'))).toMatchObject({
      code: 'invalid_arguments',
      may_have_run: false,
    });
    for (const code of [-32601, -32020]) {
      expect(report(new ProtocolError(code, 'x'))).toMatchObject({ code: 'internal', may_have_run: false });
    }
    expect(report(new ProtocolError(-32603, 'x'))).toMatchObject({ code: 'internal', may_have_run: true });
    expect(report(new ProtocolError(-32603, 'x', { ...streamLost }))).toMatchObject({ code: 'internal' });
    expect(report(new Error('x'))).toMatchObject({ code: 'internal', may_have_run: true });
  });

  it('of a transport stands for what became of the answer, also without the SDK', () => {
    expect(answeredFailure(-32603, 'x', streamLost)).toMatchObject({ kind: 'lost' });
    expect(answeredFailure(-32603, 'x', answerTooLarge)).toMatchObject({ kind: 'too_large' });
  });

  it('brings the error of the server along as it was, but not one about our own connection', () => {
    const answered = (code: number, data?: unknown) =>
      errorOfFailure(failureOf(new ProtocolError(code, 'why', data)), unsafe).rpc_error;
    expect(answered(-32602, { at: [1] })).toEqual({ code: -32602, message: 'why', data: { at: [1] } });
    expect(answered(4711)).toEqual({ code: 4711, message: 'why' });
    for (const code of [-32700, -32020, -32022]) expect(answered(code)).toBeUndefined();
    expect(errorOfFailure(failureOf(http(429)), unsafe).rpc_error).toBeUndefined();
  });
});

describe('what a server sends with an error', () => {
  const redact = (text: string) => text.replaceAll('hunter2', '[redacted]');
  const dataOf = (data: unknown) =>
    redactedFailure({ kind: 'answered', code: 1, reason: 'hunter2', data }, redact);

  it('loses the secrets in it, names of fields included, and nothing else', () => {
    expect(dataOf({ hunter2: ['a hunter2', 1, null, { ok: true }] })).toEqual({
      kind: 'answered',
      code: 1,
      reason: '[redacted]',
      data: { '[redacted]': ['a [redacted]', 1, null, { ok: true }] },
    });
  });

  it('is left out where it is too large or too deep', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 'x' : [nested(depth - 1)]);
    expect(dataOf(nested(24))).toHaveProperty('data');
    expect(dataOf('x'.repeat(16_000))).toHaveProperty('data');
    for (const data of [nested(25), 'x'.repeat(17_000)]) expect(dataOf(data)).not.toHaveProperty('data');
  });
});

describe('the error of a failed call', () => {
  const full = (thrown: unknown, facts = unsafe) => errorOfFailure(failureOf(thrown), facts);

  it('says what to do next, where there is something to do', () => {
    const timeout = new SdkError(SdkErrorCode.RequestTimeout, 'x');
    expect(full(timeout).hint).toContain('Check what the tool changed');
    expect(full(timeout, safe).hint).toContain('more time');
    expect(full(http(502), safe).hint).toContain('call it again');
    expect(full(network('ECONNREFUSED')).hint).toContain('was not made');
    expect(full(http(401)).hint).toContain('credentials');
    expect(full(http(429))).toMatchObject({ hint: expect.stringContaining('busy'), retryable: true });
    expect(full(new ProtocolError(-32602, 'x')).hint).toContain('inputSchema');
    expect(full(http(404))).not.toHaveProperty('hint');
    expect(full(timeout, { ...unsafe, aborted: true })).not.toHaveProperty('hint');
  });

  it('names the causes by their kind, never by what an error of the system says', () => {
    expect(full(network('ECONNRESET')).cause_chain).toEqual(['cannot be reached (ECONNRESET)']);
    expect(full(http(502), safe).cause_chain).toEqual(['HTTP 502']);
    expect(full(new SdkError(SdkErrorCode.RequestTimeout, 'x'))).not.toHaveProperty('cause_chain');
  });

  it('of an open circuit says how long to wait, rounded up to whole seconds', () => {
    const open = (retryAfterMs: number) => circuitOpen('s', { failures: 5, retryAfterMs, cause: 'HTTP 502' });
    expect(open(29_001)).toMatchObject({
      code: 'mcp_server_unreachable',
      retryable: true,
      may_have_run: false,
      retry_after_seconds: 30,
      cause_chain: ['HTTP 502'],
    });
    expect(open(1)).toMatchObject({ retry_after_seconds: 1, hint: expect.stringContaining('Wait 1 s') });
    expect(open(0)).toMatchObject({ retry_after_seconds: 1, message: expect.stringContaining('one call') });
  });

  it('of a second try keeps what the first one did', () => {
    const second = unreachable('s', 'it is gone');
    const earlier = (kind: 'lost' | 'not_sent') => withEarlierTry(second, { kind, reason: 'HTTP 502' });
    expect(earlier('lost')).toMatchObject({
      may_have_run: true,
      cause_chain: ['it is gone', 'the first try: HTTP 502'],
    });
    expect(earlier('not_sent').may_have_run).toBe(false);
  });
});
