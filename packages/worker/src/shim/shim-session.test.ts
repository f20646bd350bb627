import { expect, test } from 'vitest';
import type { PendingLimits } from './pending-requests.ts';
import { ShimSession } from './shim-session.ts';

type Json = Record<string, unknown>;

/** A session with what it wrote to each side since the last look, and a clock that the test moves. */
function startSession(options: { limits?: PendingLimits; waitMs?: number } = {}) {
  let now = 1_000;
  const client: Json[] = [];
  const face: string[] = [];
  const dropped: string[] = [];
  const notices: string[] = [];
  const session = new ShimSession(
    { consumer: 'shim', ...options },
    {
      toClient: (line) => client.push(JSON.parse(line)),
      toFace: (line) => face.push(line),
      dropFace: (reason) => dropped.push(reason),
      notice: (text) => notices.push(text),
      now: () => now,
    },
  );
  return {
    session,
    dropped,
    notices,
    fromClient: (message: Json) => session.fromClient(JSON.stringify({ jsonrpc: '2.0', ...message })),
    fromFace: (message: Json) => session.fromFace(JSON.stringify({ jsonrpc: '2.0', ...message })),
    /** Moves the clock and returns the time until the session wants to look again. */
    pass(ms: number) {
      now += ms;
      return session.expire();
    },
    /** Messages that the client was sent since the last look. */
    shown: () => client.splice(0),
    rawSent: () => face.splice(0),
    /** Lines that the face was sent since the last look: ordinal and message. */
    sent: () =>
      face.splice(0).map((line) => {
        const [, n, json] = /^(\d+)\+? (.*)$/s.exec(line)!;
        return { n: Number(n), ...(JSON.parse(json!) as Json) } as Json & { n: number };
      }),
  };
}

const call = (id: unknown, name = 'mcp_counter__count', more: Json = {}): Json => ({
  id,
  method: 'tools/call',
  params: { name, arguments: {}, ...more },
});
const result = (id: unknown, value: Json = {}): Json => ({ id, result: value });

const tools = { tools: { listChanged: true } };

/** A session of the revisions with a handshake, which a face has answered. */
function startLegacy(options: Parameters<typeof startSession>[0] & { capabilities?: Json } = {}) {
  const one = startSession(options);
  one.session.faceCame();
  one.fromClient({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
  one.fromFace(result(0, { protocolVersion: '2025-11-25', capabilities: options.capabilities ?? tools }));
  one.fromClient({ method: 'notifications/initialized' });
  one.shown();
  one.sent();
  return one;
}

test('requests are numbered from 1, everything else is 0, and the lines stay as they are', () => {
  const lines = {
    '1': '{"jsonrpc":"2.0", "id":"a","method":"initialize"}',
    '0': '{"method":"notifications/initialized","jsonrpc":"2.0"}',
    '2': '{"jsonrpc":"2.0","id":7,"method":"tools/list"}',
  };
  const { session, shown, rawSent } = startSession();
  session.faceCame();
  for (const line of [lines[1], lines[0], lines[2], 'not JSON']) session.fromClient(line);
  expect(rawSent()).toEqual([`1+ ${lines[1]}`, `0 ${lines[0]}`, `2+ ${lines[2]}`, '0 not JSON']);
  session.fromFace('{"result":{"tools":[]},"jsonrpc":"2.0","id":7}');
  expect(shown()).toEqual([{ jsonrpc: '2.0', id: 7, result: { tools: [] } }]);
});

test('a request is marked as new for its first face, and keeps the epoch of the lane that this one had', () => {
  const { session, fromClient, rawSent } = startSession();
  const lines = () => rawSent().map((line) => line.slice(0, line.indexOf(' ')));
  session.faceCame();
  fromClient(call('a'));
  session.fromFace('{"epoch":"E1"}');
  fromClient(call('b'));
  session.fromFace('{"epoch":null}');
  fromClient(call('c'));
  session.fromFace('{"epoch":"E2"}');
  expect(lines()).toEqual(['1+', '2+@E1', '3+']);
  session.faceLost();
  fromClient(call('d'));
  session.faceCame();
  expect(lines()).toEqual(['1', '2@E1', '3', '4+']);
});

test('a new face gets the handshake, and then what has no answer, under its old number', () => {
  const { session, fromClient, fromFace, sent, shown } = startLegacy();
  fromClient(call(1));
  fromClient({ id: 2, method: 'tools/list' });
  fromFace(result(2, { tools: [] }));
  expect(sent().map(({ n, id }) => [n, id])).toEqual([
    [2, 1],
    [3, 2],
  ]);
  session.faceLost();
  session.faceCame();
  const [handshake, ...early] = sent();
  expect(handshake).toMatchObject({ n: 1, method: 'initialize', id: expect.not.stringMatching(/^0$/) });
  expect(early).toEqual([]);
  shown();
  fromClient(call(3));
  expect(sent()).toEqual([]);
  fromFace(result(handshake?.id, { protocolVersion: '2025-11-25' }));
  expect(sent().map(({ n, id, method }) => [n, id, method])).toEqual([
    [0, undefined, 'notifications/initialized'],
    [2, 1, 'tools/call'],
    [4, 3, 'tools/call'],
  ]);
  expect(shown()).toEqual([{ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }]);
  fromFace(result(1, { content: [] }));
  fromFace(result(1, { content: [] }));
  expect(shown()).toEqual([{ jsonrpc: '2.0', id: 1, result: { content: [] } }]);
});

test('a handshake without an answer is repeated as it is, and its answer reaches the client', () => {
  const { session, fromClient, fromFace, sent, shown } = startSession();
  session.faceCame();
  fromClient({ id: 0, method: 'initialize' });
  session.faceLost();
  session.faceCame();
  expect(sent().map(({ n, id }) => [n, id])).toEqual([
    [1, 0],
    [1, 0],
  ]);
  fromFace(result(0, { protocolVersion: 'x' }));
  expect(shown()).toEqual([{ jsonrpc: '2.0', id: 0, result: { protocolVersion: 'x' } }]);
});

test('a face that refuses the handshake of the session is given up', () => {
  const { session, fromFace, sent, dropped, shown } = startLegacy();
  session.faceLost();
  session.faceCame();
  fromFace({ id: sent()[0]?.id, error: { code: -32602, message: 'no' } });
  expect(dropped).toHaveLength(1);
  expect(shown()).toEqual([]);
});

test('an accepted setting is made again, a refused one is not', () => {
  const { session, fromClient, fromFace, sent, shown } = startLegacy();
  fromClient({ id: 1, method: 'logging/setLevel', params: { level: 'info' } });
  fromFace(result(1));
  fromClient({ id: 2, method: 'logging/setLevel', params: { level: 'nonsense' } });
  fromFace({ id: 2, error: { code: -32602, message: 'no' } });
  shown();
  sent();
  session.faceLost();
  session.faceCame();
  fromFace(result(sent()[0]?.id));
  const [, setting] = sent();
  expect(setting).toMatchObject({ n: 2, method: 'logging/setLevel', params: { level: 'info' } });
  shown();
  fromFace(result(setting?.id));
  expect(shown()).toEqual([]);
});

test('resources are followed at the next face, and lists that may have changed meanwhile are told', () => {
  const capabilities = { ...tools, prompts: {}, resources: { listChanged: true, subscribe: true } };
  const { session, fromClient, fromFace, sent, shown } = startLegacy({ capabilities });
  const ask = (id: number, method: string, uri: string, answer: Json = { result: {} }) => {
    fromClient({ id, method: `resources/${method}`, params: { uri } });
    fromFace({ id, ...answer });
  };
  ask(1, 'subscribe', 'a:1');
  ask(2, 'subscribe', 'a:2');
  ask(3, 'subscribe', 'a:refused', { error: { code: -32002, message: 'no' } });
  ask(4, 'subscribe', 'a:1');
  ask(5, 'unsubscribe', 'a:2');
  ask(6, 'subscribe', 'a:3');
  fromClient({ id: 7, method: 'resources/subscribe', params: { uri: 'a:open' } });
  shown();
  sent();
  session.faceLost();
  session.faceCame();
  fromFace(result(sent()[0]?.id, { capabilities: tools }));
  const repeated = sent().slice(1);
  expect(repeated.map(({ n, method, params }) => [n, method, params])).toEqual([
    [5, 'resources/subscribe', { uri: 'a:1' }],
    [7, 'resources/subscribe', { uri: 'a:3' }],
    [8, 'resources/subscribe', { uri: 'a:open' }],
  ]);
  expect(shown().map(({ method }) => method)).toEqual([
    'notifications/tools/list_changed',
    'notifications/resources/list_changed',
  ]);
  // Only what the client itself still waits for has an answer that it sees.
  for (const { id } of repeated) fromFace(result(id));
  expect(shown()).toEqual([{ jsonrpc: '2.0', id: 7, result: {} }]);
});

test('while no face is there, ping is answered and everything else waits, at most 30 s', () => {
  const { session, fromClient, pass, shown, sent } = startLegacy();
  fromClient(call('sent'));
  sent();
  session.faceLost();
  fromClient({ id: 9, method: 'ping' });
  expect(shown()).toEqual([{ jsonrpc: '2.0', id: 9, result: {} }]);
  expect(pass(10_000)).toBe(20_000);
  fromClient(call('waits'));
  fromClient({ id: 'list', method: 'tools/list' });
  expect(pass(19_999)).toBe(1);
  expect(shown()).toEqual([]);
  expect(pass(1)).toBe(10_000);
  const callId = 'shim-2';
  expect(shown()).toEqual([
    {
      jsonrpc: '2.0',
      id: 'sent',
      result: {
        isError: true,
        content: [
          { type: 'text', text: expect.stringContaining(`signalbox_call_result with call_id ${callId}`) },
        ],
        structuredContent: {
          error: expect.objectContaining({ code: 'outcome_unknown', may_have_run: true, call_id: callId }),
        },
        _meta: expect.objectContaining({ 'signalbox/call_id': callId }),
      },
    },
  ]);
  expect(pass(10_000)).toBeUndefined();
  expect(shown()).toMatchObject([
    {
      id: 'waits',
      result: { isError: true, structuredContent: { error: { retryable: true, may_have_run: false } } },
    },
    { id: 'list', error: { data: { retryable: true } } },
  ]);
  session.faceCame();
  expect(sent().map(({ method }) => method)).toEqual(['initialize']);
});

test('a request that comes back to a face waits anew when that one is lost', () => {
  const { session, fromClient, fromFace, pass, shown, sent } = startLegacy();
  fromClient(call(1));
  session.faceLost();
  pass(20_000);
  session.faceCame();
  fromFace(result(sent().at(-1)?.id));
  session.faceLost();
  expect(pass(29_999)).toBe(1);
  shown();
  pass(1);
  expect(shown()).toHaveLength(1);
});

test('a request that was there when five faces were lost ends, a subscription does not', () => {
  const { session, fromClient, shown, sent } = startSession();
  session.faceCame();
  fromClient({ id: 'sub', method: 'subscriptions/listen' });
  fromClient(call(1));
  for (let lost = 1; lost <= 5; lost++) {
    expect(shown()).toEqual([]);
    session.faceLost();
    session.faceCame();
  }
  expect(shown()).toMatchObject([
    { id: 1, result: { structuredContent: { error: { may_have_run: true } } } },
  ]);
  expect(sent().at(-1)).toMatchObject({ id: 'sub' });
});

test('a failure of a tool with an output schema has no structured content, which could not fit it', () => {
  const { fromClient, fromFace, session, pass, shown } = startLegacy();
  fromClient({ id: 1, method: 'tools/list', params: {} });
  fromFace(result(1, { tools: [{ name: 'mcp_a', outputSchema: {} }], nextCursor: 'c' }));
  fromClient({ id: 2, method: 'tools/list', params: { cursor: 'c' } });
  fromFace(result(2, { tools: [{ name: 'mcp_b' }] }));
  fromClient(call(3, 'mcp_a'));
  fromClient(call(4, 'mcp_b'));
  session.faceLost();
  shown();
  pass(30_000);
  const [a, b] = shown() as { result: Json }[];
  expect(a?.result).not.toHaveProperty('structuredContent');
  expect(a?.result).toMatchObject({ _meta: { 'signalbox/error': { call_id: 'shim-4' } } });
  expect(b?.result).toHaveProperty('structuredContent');
});

test('a cancelled request is forgotten: it is neither repeated nor answered', () => {
  const { session, fromClient, fromFace, shown, sent } = startSession();
  session.faceCame();
  fromClient(call(1));
  fromClient(call(2));
  fromClient({ method: 'notifications/cancelled', params: { requestId: 1 } });
  expect(sent().map(({ n, method }) => [n, method])).toEqual([
    [1, 'tools/call'],
    [2, 'tools/call'],
    [0, 'notifications/cancelled'],
  ]);
  fromFace(result(1));
  session.faceLost();
  session.faceCame();
  expect(sent().map(({ n }) => n)).toEqual([2]);
  expect(shown()).toEqual([]);
});

test('a call that is cancelled while no face is there is withdrawn by the next one, if a face had it', () => {
  const { session, fromClient, rawSent, shown } = startSession();
  session.faceCame();
  fromClient(call(1));
  fromClient({ id: 2, method: 'tools/list' });
  rawSent();
  session.faceLost();
  fromClient(call(3));
  for (const requestId of [1, 2, 3]) fromClient({ method: 'notifications/cancelled', params: { requestId } });
  fromClient(call(1));
  session.faceCame();
  expect(rawSent().map((line) => line.slice(0, 17))).toEqual(['-1 {"jsonrpc":"2.', '4+ {"jsonrpc":"2.']);
  session.faceLost();
  session.faceCame();
  expect(rawSent().map((line) => line.slice(0, 2))).toEqual(['4 ']);
  expect(shown()).toEqual([]);
});

test('an answered call that a face wants kept is made again at each next face, unseen, until it is dropped', () => {
  const { session, fromClient, fromFace, sent, shown } = startSession();
  session.faceCame();
  fromClient(call(1, 'signalbox_ask_agent', { _meta: { progressToken: 1, more: 2 } }));
  session.fromFace('{"kept":1}');
  session.fromFace('{"kept":7}');
  fromFace(result(1, { n: 1 }));
  expect(shown()).toMatchObject([{ id: 1 }]);
  sent();
  for (let face = 0; face < 2; face++) {
    session.faceLost();
    session.faceCame();
    const [again, ...others] = sent();
    expect(others).toEqual([]);
    expect(again).toMatchObject({ n: 1, params: { name: 'signalbox_ask_agent', _meta: { more: 2 } } });
    expect(again).not.toHaveProperty('params._meta.progressToken');
    fromFace(result(again?.id, { n: 1 }));
  }
  session.fromFace('{"dropped":1}');
  session.faceLost();
  session.faceCame();
  expect(sent()).toEqual([]);
  expect(shown()).toEqual([]);
});

test('ids are used again after their answer; a second request under an open one is left out', () => {
  const { session, fromClient, fromFace, shown, sent, notices } = startSession();
  session.faceCame();
  fromClient(call(1));
  fromFace(result(1));
  fromClient(call(1));
  fromClient(call(1));
  fromClient(call('1'));
  expect(sent().map(({ n, id }) => [n, id])).toEqual([
    [1, 1],
    [2, 1],
    [3, '1'],
  ]);
  expect(notices).toHaveLength(1);
  fromFace(result(1));
  fromFace(result(1));
  fromFace(result('1'));
  expect(shown().map(({ id }) => id)).toEqual([1, 1, '1']);
});

test('questions of a face carry its number; those of a lost face are withdrawn and their answers dropped', () => {
  const { session, fromClient, fromFace, shown, sent } = startSession();
  session.faceCame();
  fromFace({ id: 0, method: 'elicitation/create', params: { message: 'sure?' } });
  fromFace({ id: 1, method: 'elicitation/create', params: { message: 'really?' } });
  const [first, second] = shown();
  expect(first?.id).not.toBe(second?.id);
  fromClient(result(first?.id, { action: 'accept' }));
  expect(sent()).toEqual([{ n: 0, jsonrpc: '2.0', id: 0, result: { action: 'accept' } }]);
  session.faceLost();
  expect(shown()).toEqual([
    {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: second?.id, reason: expect.any(String) },
    },
  ]);
  session.faceCame();
  fromFace({ id: 1, method: 'elicitation/create', params: {} });
  const [again] = shown();
  fromClient(result(second?.id));
  expect(sent()).toEqual([]);
  fromFace({ method: 'notifications/cancelled', params: { requestId: 1 } });
  expect(shown()).toMatchObject([{ params: { requestId: again?.id } }]);
  fromClient(result(again?.id));
  expect(sent()).toEqual([]);
});

const subscription = 'io.modelcontextprotocol/subscriptionId';

test('a subscription is taken over by the next face: the client sees one acknowledgement and a change', () => {
  const { session, fromClient, fromFace, shown, sent } = startSession();
  const acknowledged = {
    method: 'notifications/subscriptions/acknowledged',
    params: {
      notifications: { toolsListChanged: true, promptsListChanged: true },
      _meta: { [subscription]: 'sub' },
    },
  };
  session.faceCame();
  fromClient({ id: 'sub', method: 'subscriptions/listen', params: {} });
  fromFace(acknowledged);
  expect(shown()).toEqual([{ jsonrpc: '2.0', ...acknowledged }]);
  // A face that ends in order says that the subscription is complete.
  fromFace(result('sub', { resultType: 'complete' }));
  session.faceLost();
  session.faceCame();
  expect(sent().map(({ n, id }) => [n, id])).toEqual([
    [1, 'sub'],
    [1, 'sub'],
  ]);
  fromFace(acknowledged);
  const params = { _meta: { [subscription]: 'sub' } };
  expect(shown()).toEqual([
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params },
    { jsonrpc: '2.0', method: 'notifications/prompts/list_changed', params },
  ]);
  fromClient({ method: 'notifications/cancelled', params: { requestId: 'sub' } });
  session.faceLost();
  session.faceCame();
  expect(sent()).toMatchObject([{ n: 0, method: 'notifications/cancelled' }]);
});

test('progress grows although the next face counts from the start', () => {
  const { session, fromClient, fromFace, shown } = startSession();
  const progress = (params: Json) => {
    fromFace({ method: 'notifications/progress', params: { progressToken: 5, ...params } });
    return shown()[0]?.params;
  };
  session.faceCame();
  fromClient(call(1, 'mcp_a', { _meta: { progressToken: 5 } }));
  expect(progress({ progress: 2, total: 4 })).toEqual({ progressToken: 5, progress: 2, total: 4 });
  session.faceLost();
  session.faceCame();
  expect(progress({ progress: 0.5 })).toEqual({ progressToken: 5, progress: 2.5 });
  expect(progress({ progress: 3, total: 4 })).toEqual({ progressToken: 5, progress: 5, total: 6 });
  fromFace(result(1));
  shown();
  fromClient(call(2, 'mcp_a', { _meta: { progressToken: 5 } }));
  expect(progress({ progress: 1 })).toEqual({ progressToken: 5, progress: 1 });
});

test('more requests than are kept end at once, with an error that says that nothing ran', () => {
  const { session, fromClient, fromFace, shown, sent } = startSession({
    limits: { requests: 2, characters: 1_000 },
  });
  session.faceCame();
  fromClient(call(1));
  fromClient(call(2, 'mcp_a', { arguments: { text: 'x'.repeat(1_000) } }));
  fromClient(call(3));
  fromClient(call(4));
  fromClient({ id: 5, method: 'tools/list' });
  expect(sent().map(({ id }) => id)).toEqual([1, 3]);
  const refused = {
    isError: true,
    structuredContent: { error: { code: 'quota_exceeded', may_have_run: false } },
  };
  expect(shown()).toMatchObject([
    { id: 2, result: refused },
    { id: 4, result: refused },
    { id: 5, error: { data: { retryable: true } } },
  ]);
  fromFace(result(1));
  fromClient(call(6));
  expect(sent().map(({ id }) => id)).toEqual([6]);
});

test('a session that is stopped ends its calls as cancelled', () => {
  const { session, fromClient, fromFace, shown } = startSession();
  session.faceCame();
  fromClient(call(1));
  session.stop();
  expect(shown()).toMatchObject([
    {
      id: 1,
      result: { isError: true, structuredContent: { error: { code: 'cancelled', may_have_run: true } } },
    },
  ]);
  fromFace(result(1));
  expect(shown()).toEqual([]);
});

test('a session that is stopped without a face does not say that its calls are cancelled', () => {
  const { session, fromClient, sent, shown } = startLegacy();
  fromClient(call(1));
  session.faceLost();
  fromClient(call(2));
  sent();
  session.stop();
  expect(shown()).toMatchObject([
    { id: 1, result: { structuredContent: { error: { code: 'outcome_unknown', call_id: 'shim-2' } } } },
    { id: 2, result: { structuredContent: { error: { may_have_run: false } } } },
  ]);
  expect(sent()).toEqual([]);
});

test('the reason of a face that ends the connection is no message for the client', () => {
  const { session, shown } = startSession();
  session.faceCame();
  const ended = { code: 'unauthorized', message: 'revoked', retryable: false };
  expect(session.fromFace(JSON.stringify({ ended }))).toEqual(ended);
  expect(shown()).toEqual([]);
});
