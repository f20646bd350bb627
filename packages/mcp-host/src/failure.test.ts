import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { SignalboxError } from '@signalbox/protocol';
import { describe, expect, it } from 'vitest';
import { failureOf } from './failure.ts';
import { reportFailure } from './failure-report.ts';
import { streamLost } from './http/http-transport.ts';

const tool = { name: 't', inputSchema: { type: 'object' as const } };
const unsafe = { server: 's', tool, repeatable: false, aborted: false };
const safe = { ...unsafe, repeatable: true };
const network = (code: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code }) });
const http = (status: number) => new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'x', { status });
const report = (thrown: unknown, facts = unsafe) => {
  const { code, retryable, may_have_run } = reportFailure(failureOf(thrown), facts);
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
  ])('did not run after %s', (_, error, retryable) => {
    expect(report(error)).toEqual({ code: 'mcp_server_unreachable', retryable, may_have_run: false });
  });

  it('with an error of the server is told apart by its code', () => {
    expect(report(new ProtocolError(-32602, 'x'))).toMatchObject({
      code: 'invalid_arguments',
      may_have_run: false,
    });
    expect(report(new ProtocolError(-32601, 'x'))).toMatchObject({ code: 'internal', may_have_run: false });
    expect(report(new ProtocolError(-32603, 'x'))).toMatchObject({ code: 'internal', may_have_run: true });
    expect(report(new ProtocolError(-32603, 'x', { ...streamLost }))).toMatchObject({ code: 'internal' });
    expect(report(new Error('x'))).toMatchObject({ code: 'internal', may_have_run: true });
  });
});
