import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { uselessAnswer } from '../mended-message.ts';
import type { ServerAnswer } from '../server-connection.ts';
import type { ToolProgress } from '../tool-calls/index.ts';
import { LegacyCalls } from './legacy-calls.ts';

function opened() {
  const sent: Record<string, unknown>[] = [];
  const passed: unknown[] = [];
  const transport: Transport = {
    start: async () => {},
    close: async () => {},
    send: async (message) => void sent.push(message as Record<string, unknown>),
    onmessage: (message) => void passed.push(message),
  };
  const calls = new LegacyCalls(transport);
  const call = (options: { signal?: AbortSignal; timeoutMs?: number } = {}, progress?: ToolProgress[]) => {
    const { signal = new AbortController().signal, timeoutMs = 10_000 } = options;
    const onProgress = progress && ((update: ToolProgress) => void progress.push(update));
    return calls.call('tools/call', { name: 'echo', arguments: {} }, { signal, timeoutMs, onProgress });
  };
  const receive = (message: object) =>
    transport.onmessage?.({ jsonrpc: '2.0', ...message } as JSONRPCMessage, undefined);
  return { transport, sent, passed, call, receive };
}

const failed = async (call: Promise<ServerAnswer>) => {
  const answer = await call;
  return 'failure' in answer ? answer.failure : answer;
};

test('each call gets its own answer, and what is not about calls goes to the client of the SDK', async () => {
  const { sent, passed, call, receive } = opened();
  const calls = [call(), call()];
  const [first, second] = sent.map(({ id }) => id);
  receive({ id: 0, result: {} });
  receive({ method: 'notifications/tools/list_changed' });
  receive({ id: second, result: { content: [], resultType: 'input_required', vendor: 1 } });
  receive({ id: first, result: { content: ['a'] } });
  expect(await Promise.all(calls)).toEqual([
    { result: { content: ['a'] } },
    { result: { content: [], vendor: 1 } },
  ]);
  expect(passed).toEqual([
    { jsonrpc: '2.0', id: 0, result: {} },
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
  ]);
});

test('progress reaches its call, also right before the result, and nobody once that is there', async () => {
  const { sent, passed, call, receive } = opened();
  const progress: ToolProgress[] = [];
  const running = call({}, progress);
  const { id, params } = sent[0] as { id: number; params: { _meta: { progressToken: unknown } } };
  const report = (step: number) =>
    receive({ method: 'notifications/progress', params: { progressToken: id, progress: step, total: 2 } });
  expect(params._meta.progressToken).toBe(id);
  report(1);
  receive({ id, result: {} });
  report(2);
  receive({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } });
  expect(await running).toEqual({ result: {} });
  expect(progress).toEqual([{ progress: 1, total: 2 }]);
  expect(passed).toHaveLength(1);
});

test('a call that is given up is cancelled on the server, and its late answer is nobody’s', async () => {
  const { sent, passed, call, receive } = opened();
  const abort = new AbortController();
  const running = failed(call({ signal: abort.signal }));
  abort.abort('enough');
  expect(await running).toEqual({ kind: 'timed_out', reason: 'no answer in time' });
  expect(await failed(call({ timeoutMs: 1 }))).toMatchObject({ kind: 'timed_out' });
  expect(sent.filter(({ method }) => method === 'notifications/cancelled')).toMatchObject([
    { params: { requestId: sent[0]?.id, reason: 'enough' } },
    { params: { requestId: sent[2]?.id } },
  ]);
  receive({ id: sent[0]?.id, result: {} });
  expect(passed).toEqual([]);
  expect(await failed(call({ signal: AbortSignal.abort() }))).toMatchObject({ kind: 'timed_out' });
  expect(sent).toHaveLength(4);
});

test('errors, useless answers and a lost connection are told apart', async () => {
  const { transport, sent, call, receive } = opened();
  const calls = [call(), call(), call()].map(failed);
  const [refused, useless] = sent.map(({ id }) => id);
  receive({ id: refused, error: { code: -32000, message: 'no', data: { why: 1 } } });
  receive({ id: useless, error: { code: -32603, message: 'no', data: uselessAnswer } });
  transport.onclose?.();
  expect(await Promise.all(calls)).toMatchObject([
    { kind: 'answered', code: -32000, reason: 'no', data: { why: 1 } },
    { kind: 'bad_answer' },
    { kind: 'lost' },
  ]);
});
