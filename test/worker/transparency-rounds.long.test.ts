import { ProtocolErrorCode } from '@modelcontextprotocol/client';
import { expect, test, vi } from 'vitest';
import { connectFace } from '../support/worker/mcp-client.ts';
import { startHosted } from '../support/worker/transparency-rounds.ts';

const elicitation = { elicitation: { form: {} } };

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
