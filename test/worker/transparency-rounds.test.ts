import { fileURLToPath } from 'node:url';
import { programOptions } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { connectFace, connectUrl } from '../support/worker/mcp-client.ts';
import { startHosted } from '../support/worker/transparency-rounds.ts';

const elicitation = { elicitation: { form: {} } };
const everyCapability = { ...elicitation, sampling: {}, roots: {} };

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
