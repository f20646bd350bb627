import { fileURLToPath } from 'node:url';
import { ProtocolErrorCode } from '@modelcontextprotocol/client';
import type { HttpServerConfig, StdioServerConfig } from '@signalbox/mcp-host';
import { programOptions } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { startFixture } from '../support/conformance/fixture-server.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace, connectUrl } from '../support/worker/mcp-client.ts';

const elicitation = { elicitation: { form: {} } };
const everyCapability = { ...elicitation, sampling: {}, roots: {} };

/** Over HTTP, unless `server` says otherwise. */
async function startHosted(
  server: Partial<HttpServerConfig> | StdioServerConfig = {},
  options: Parameters<typeof startFixture>[0] = {},
) {
  await using starting = new AsyncDisposableStack();
  const fixture = starting.use(await startFixture(options));
  const over = server.type === 'stdio' ? server : { ...server, type: 'http' as const, url: fixture.url };
  const stack = starting.use(await startToolStack({ servers: { fixture: { ...over, prefix: false } } }));
  const started = starting.move();
  return { fixture, stack, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** Questions through a face name the server that asks; everything else is as it came. */
function asFixture(answer: object): unknown {
  return JSON.parse(
    JSON.stringify(answer).replaceAll('"message":"', `"message":"The MCP server 'fixture' asks: `),
  );
}

test('Rounds of a call that asks for input are the same through the face as directly but for the name of the server, and a tampered state is refused.', async () => {
  await using hosted = await startHosted();
  const options = { era: 'modern', capabilities: everyCapability } as const;
  await using direct = await connectUrl(hosted.fixture.url, options);
  await using face = await connectFace(await hosted.stack.executor('agent'), options);
  const accepted = (content: object) => ({ action: 'accept', content });

  const tool = 'test_input_required_result_multi_round';
  let more: Record<string, unknown> = {};
  const steps = [{ step1: accepted({ name: 'Ada' }) }, { step2: accepted({ color: 'blue' }) }, undefined];
  for (const inputResponses of steps) {
    const answer = await face.call(tool, {}, { params: more });
    expect(answer).toEqual(asFixture(await direct.call(tool, {}, { params: more })));
    expect(answer.resultType).toBe(inputResponses ? 'input_required' : undefined);
    expect('content' in answer).toBe(!inputResponses);
    more = { inputResponses, requestState: answer.requestState };
  }

  const asked = await face.call('test_input_required_result_tampered_state');
  const retry = { inputResponses: { confirm: accepted({ ok: true }) }, requestState: asked.requestState };
  expect(await face.call('test_input_required_result_tampered_state', {}, { params: retry })).toMatchObject({
    content: [{ text: 'untouched' }],
  });
  await expect(
    face.call('test_input_required_result_tampered_state', {}, { params: { ...retry, requestState: 'x.y' } }),
  ).rejects.toMatchObject({ code: -32602, data: { reason: 'invalid_request_state' } });
});

test('Neither questions nor the results of their answers are kept for others, even if the server allows it.', async () => {
  await using hosted = await startHosted();
  const executor = await hosted.stack.executor('agent');
  const ask = (round = {}) =>
    executor.executeRound({ name: 'test_kept_answer' }, { clientCapabilities: elicitation, ...round });
  const asked = { result: { resultType: 'input_required', ttlMs: 60_000 } };
  expect(await Promise.all([ask(), ask()])).toMatchObject([asked, asked]);
  const inputResponses = { user_name: { action: 'accept', content: { name: 'Ada' } } };
  expect(await ask({ inputResponses })).toMatchObject({
    result: { content: [{ text: 'hello' }], ttlMs: 60_000 },
  });
  expect(await ask()).toMatchObject(asked);
  expect(hosted.stack.host.servers()).toContainEqual(
    expect.objectContaining({ name: 'fixture', calls: 4, cacheEntries: 0, cacheHits: 0 }),
  );
});

test('A server sees the capabilities of the client that calls, and none where there is no client.', async () => {
  await using hosted = await startHosted();
  const executor = await hosted.stack.executor('agent');
  await using able = await connectFace(executor, { era: 'modern', capabilities: { sampling: {} } });
  await using unable = await connectFace(executor, { era: 'modern' });
  const { inputRequests } = await able.call('test_input_required_result_capabilities');
  expect(Object.keys(inputRequests as object)).toEqual(['greeting']);
  const refused = {
    code: ProtocolErrorCode.MissingRequiredClientCapability,
    data: { requiredCapabilities: { sampling: {} } },
  };
  expect(await able.call('test_missing_capability')).toMatchObject({ resultType: 'input_required' });
  await expect(unable.call('test_missing_capability')).rejects.toMatchObject(refused);
  const { error } = await executor.execute({ name: 'test_missing_capability' });
  expect(error).toMatchObject({ code: 'internal', may_have_run: false, rpc_error: refused });
});

test('A client of an older revision is asked itself, and no other one, by a server over stdio too.', async () => {
  const script = fileURLToPath(new URL('../support/conformance/fixture-server.ts', import.meta.url));
  const args = [...programOptions(), script, 'stdio'];
  await using hosted = await startHosted({
    type: 'stdio',
    command: process.execPath,
    args,
    protocol: 'auto',
  });
  const executor = await hosted.stack.executor('agent');
  const questions: unknown[] = [];
  await using asked = await connectFace(executor, {
    capabilities: everyCapability,
    prepare(client) {
      client.setRequestHandler('elicitation/create', ({ params }) => {
        questions.push(params.message);
        return { action: 'accept', content: { name: 'Ada', color: 'blue' } };
      });
      client.setRequestHandler('sampling/createMessage', () => ({
        model: 'm',
        role: 'assistant',
        content: { type: 'text', text: 'hello' },
      }));
      client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///r' }] }));
    },
  });
  await using other = await connectFace(executor, {
    capabilities: elicitation,
    prepare: (client) =>
      client.setRequestHandler('elicitation/create', () => {
        questions.push('asked the wrong client');
        return { action: 'cancel' };
      }),
  });
  expect(await asked.call('test_input_required_result_multi_round')).toMatchObject({
    content: [{ text: 'both steps done' }],
  });
  expect(questions).toEqual([expect.stringContaining('Step 1'), expect.stringContaining('Step 2')]);
  const { content } = await asked.call('test_input_required_result_multiple_inputs');
  expect(JSON.parse((content as { text: string }[])[0]!.text)).toMatchObject({
    user_name: { action: 'accept' },
    greeting: { content: { text: 'hello' } },
    client_roots: { roots: [{ uri: 'file:///r' }] },
  });
  expect(await asked.call('test_state_only')).toMatchObject({ content: [{ text: 'called again' }] });
  expect(questions).toHaveLength(3);
  expect(await other.call('test_input_required_result_elicitation')).toMatchObject({
    content: [{ text: expect.stringContaining('cancel') }],
  });
});

test('A server of both revisions asks clients of an older one by requests: each client itself, also beside another one and after a restart; tools that its older side defines otherwise are called on the newer one.', async () => {
  await using hosted = await startHosted();
  const { fixture, stack } = hosted;
  const bothAsked = Promise.withResolvers<void>();
  let asked = 0;
  const connect = async (name: string) =>
    connectFace(await stack.executor(name), {
      capabilities: elicitation,
      prepare: (client) =>
        client.setRequestHandler('elicitation/create', async () => {
          if (++asked === 2) bothAsked.resolve();
          await bothAsked.promise;
          return { action: 'accept', content: { username: name } };
        }),
    });
  await using ada = await connect('ada');
  await using grace = await connect('grace');
  const who = (client: typeof ada) => client.call('test_elicitation', { message: 'Who?' });
  const says = (words: string) => ({ content: [{ text: expect.stringContaining(words) }] });
  const [first, second] = await Promise.all([who(ada), who(grace)]);
  expect(first).toMatchObject(says('ada'));
  expect(second).toMatchObject(says('grace'));
  fixture.sessions.clear();
  expect(await who(ada)).toMatchObject(says('ada'));

  await using unasked = await connectFace(await stack.executor('mute'));
  expect(await unasked.call('test_changing_tool')).toMatchObject(says('here'));
  expect(await ada.call('test_changing_tool')).toMatchObject(says('in a session'));
  expect(fixture.sessions.size).toBe(1);
  await unasked.call('test_trigger_tool_change');
  await vi.waitFor(async () => {
    const changed = (await ada.list()).find(({ name }) => name === 'test_changing_tool');
    expect(changed?.description).toBe('Changed 1 times.');
  });
  expect(await ada.call('test_changing_tool')).toMatchObject(says('here'));
});

test('A client that fails to answer gets a failed result, and its connection goes on.', async () => {
  await using hosted = await startHosted({}, { older: false });
  await using face = await connectFace(await hosted.stack.executor('agent'), {
    capabilities: elicitation,
    prepare: (client) =>
      client.setRequestHandler('elicitation/create', () => {
        throw new Error('nobody is there');
      }),
  });
  expect(await face.call('test_input_required_result_elicitation')).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('nobody is there') }],
    structuredContent: { error: { code: 'internal' } },
  });
  expect(await face.call('test_simple_text')).toHaveProperty('content');
});

test('Each round is a call of its own on record; a caller that cannot be asked gets an error.', async () => {
  await using hosted = await startHosted();
  const executor = await hosted.stack.executor('agent');
  const call = { name: 'test_input_required_result_elicitation' };
  const { result } = await executor.executeRound(
    call,
    { clientCapabilities: elicitation },
    { requestId: 'r1' },
  );
  expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { user_name: {} } });
  const { error } = await executor.execute({ name: 'test_state_only' }, { requestId: 'r2' });
  expect(error).toMatchObject({ code: 'internal', may_have_run: true, hint: expect.any(String) });
  expect(error?.message).toContain('asks its caller for input');

  const client = await hosted.stack.client('agent');
  for (const [requestId, outcome] of [
    ['r1', 'input_required'],
    ['r2', 'internal'],
  ]) {
    const body = { op: 'status', request_id: requestId };
    const answer = await client.request('orchestrator', 'mcp_request', body, { timeoutMs: 10_000 });
    expect(answer).toMatchObject({ reply: { json: { data: { state: 'finished', outcome } } } });
  }
});

test('A JSON-RPC error of a server reaches the client with its code, message and data; to code it is a typed error.', async () => {
  await using hosted = await startHosted({ protocol: 'legacy' });
  const executor = await hosted.stack.executor('agent');
  await using face = await connectFace(executor);
  const refused = {
    code: 4711,
    message: 'the fixture refuses',
    data: { reason: 'asked to', depth: { list: [1, null] } },
  };
  await expect(face.call('test_rpc_error')).rejects.toMatchObject(refused);
  const { error } = await executor.execute({ name: 'test_rpc_error' });
  expect(error).toMatchObject({ code: 'internal', retryable: false, rpc_error: refused });
  // A server of an older revision asks in the middle of its call; a caller that cannot be asked is no obstacle to the call.
  const asking = { name: 'test_elicitation', arguments: { message: 'Who?' } };
  const round = { clientCapabilities: everyCapability };
  const { result } = await executor.executeRound(asking, round);
  expect(result).toMatchObject({ inputRequests: { question_1: { method: 'elicitation/create' } } });
  const inputResponses = { question_1: { action: 'accept', content: { username: 'Ada' } } };
  const more = { inputResponses, requestState: String(result?.requestState) };
  expect(await executor.executeRound(asking, { ...round, ...more })).toMatchObject({
    result: { content: [{ text: expect.stringContaining('Ada') }] },
  });
  expect(await executor.executeRound(asking, {})).toMatchObject({ result: { isError: true } });
});
