import { isRunningCallState, runningCallState, type Tool } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { askingServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace } from '../support/worker/mcp-client.ts';

const elicitation = { elicitation: { form: {} } };
const able = { clientCapabilities: elicitation };
const accepted = { action: 'accept', content: { name: 'Ada' } };
const _tools = [toolNamed('pay') as Tool];
const inputResponses = { question_1: accepted };

test('The call that asks is made once; answers of others, and answers that come too late, reach no server.', async () => {
  await using stack = await startToolStack({
    counter: false,
    servers: { asking: { ...askingServer(), prefix: false } },
  });
  const [rosa, walt] = [await stack.executor('rosa'), await stack.executor('walt')];
  const reportOf = async () => JSON.parse(String((await rosa.execute({ name: 'report' })).result?.text));
  const lend = { name: 'lend' };
  const { result } = await rosa.executeRound(lend, able);
  const requestState = String(result?.requestState);
  expect(isRunningCallState(requestState)).toBe(true);

  const unknown = { error: { code: 'outcome_unknown', may_have_run: true } };
  expect(await walt.executeRound(lend, { ...able, inputResponses, requestState })).toMatchObject(unknown);
  const other = { name: 'lend', arguments: { id: 2 } };
  expect(await rosa.executeRound(other, { ...able, inputResponses, requestState })).toMatchObject(unknown);
  expect(await rosa.executeRound(lend, { ...able, inputResponses, requestState })).toMatchObject({
    result: { content: [{ text: expect.stringContaining('Ada') }] },
  });
  // As after the death of the orchestrator: nobody knows the call any more.
  for (const state of [requestState, runningCallState('of-an-earlier-process')])
    expect(await rosa.executeRound(lend, { ...able, inputResponses, requestState: state })).toMatchObject(
      unknown,
    );
  expect((await reportOf()).called).toEqual(['lend']);

  const again = { ...able, inputResponses, requestState: runningCallState('of-an-earlier-process') };
  expect(await rosa.executeRound({ name: 'look' }, again)).toMatchObject({
    result: { resultType: 'input_required', inputRequests: { question_1: {} } },
  });
  expect(await walt.executeRound({ name: 'look' }, able)).toMatchObject({
    result: { content: [{ text: expect.stringContaining('calls of several agents are running') }] },
  });
  expect(await reportOf()).toMatchObject({
    called: ['lend', 'look', 'look'],
    declared: { elicitation: { form: {} }, sampling: {} },
  });
  expect(stack.host.servers()).toMatchObject([{ questions: { asked: 2, refused: 1 } }]);
});

test('A client that cancels while it is asked cancels the call at the server; one that has no answer does not.', async () => {
  await using stack = await startToolStack({
    counter: false,
    servers: { asking: { ...askingServer(), share: 'worker', prefix: false } },
  });
  const executor = await stack.executor('rosa');
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  let answer: () => Promise<never> = () => Promise.reject(new Error('nobody is there'));
  await using face = await connectFace(executor, {
    capabilities: elicitation,
    prepare: (client) => client.setRequestHandler('elicitation/create', () => answer()),
  });
  expect(await face.call('lend')).toMatchObject({
    content: [{ text: expect.stringContaining('nobody is there') }],
  });
  answer = () => {
    asked();
    return new Promise(() => {});
  };
  const cancel = new AbortController();
  const call = face.call('lend', {}, { signal: cancel.signal });
  await isAsked;
  cancel.abort();
  await expect(call).rejects.toThrow();
  const report = async () => JSON.parse(String((await executor.execute({ name: 'report' })).result?.text));
  await expect.poll(report).toMatchObject({ called: ['lend', 'lend'], cancelled: ['lend'] });
});
