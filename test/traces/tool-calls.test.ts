import { afterAll, beforeAll, expect, test } from 'vitest';
import { startToolStack, type ToolStack } from '../support/orchestrator/tool-stack.ts';
import { metaServer } from '../support/traces/meta-server-config.ts';
import { recordSpans, type SpanRecorder } from '../support/traces/span-recorder.ts';
import { connectFace, eras } from '../support/worker/mcp-client.ts';

const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const parentTrace = parent.slice(3, 35);

let recorder: SpanRecorder;
let traced: ToolStack;
let plain: ToolStack;

beforeAll(async () => {
  recorder = recordSpans();
  const servers = { m: metaServer() };
  traced = await startToolStack({ counter: false, servers, tracing: recorder.tracing });
  plain = await startToolStack({ counter: false, servers });
});
afterAll(async () => {
  await traced?.[Symbol.asyncDispose]();
  await plain?.[Symbol.asyncDispose]();
});

/** The spans of one trace, by name: what they are and what caused them. */
async function traceOf(traceId: string, count: number) {
  const ofTrace = () => recorder.spans().filter((span) => span.traceId === traceId);
  await expect.poll(() => ofTrace().length).toBe(count);
  return new Map(ofTrace().map((span) => [`${span.kind} ${span.name}`, span]));
}

test.each(eras)('a %s call is one trace from its client to the hosted server and back', async (era) => {
  const executor = await traced.executor(`rosa-${era}`, 'worker', { tracing: recorder.tracing });
  await using face = await connectFace(executor, { era });
  const traceId = era === 'legacy' ? parentTrace : parentTrace.replace('0af', '1af');
  const given = parent.replace(parentTrace, traceId);
  const { structuredContent } = await face.call(
    'mcp_m__meta',
    {},
    { params: { _meta: { traceparent: given } } },
  );
  const spans = await traceOf(traceId, 6);
  const agent = `rosa-${era}`;
  const causes = [...spans].map(([name, span]) => [name, span.parent]);
  expect(Object.fromEntries(causes)).toEqual({
    'server tools/call mcp_m__meta': 'remote',
    'producer send orchestrator': 'tools/call mcp_m__meta',
    'consumer process orchestrator': 'send orchestrator',
    'client tools/call meta': 'process orchestrator',
    [`producer send ${agent}`]: 'process orchestrator',
    [`client receive ${agent}`]: `send ${agent}`,
  });
  const client = spans.get('client tools/call meta')!;
  expect(structuredContent).toEqual({ meta: { traceparent: client.traceparent } });
  expect(spans.get('server tools/call mcp_m__meta')).toMatchObject({ parentId: given.slice(36, 52) });
  expect(client.attributes).toEqual({
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'meta',
    'gen_ai.agent.id': agent,
    'signalbox.server': 'm',
    'network.transport': 'pipe',
  });
});

test('a call without a trace begins one at the face, and its failures have a type', async () => {
  const executor = await traced.executor('sara', 'worker', { tracing: recorder.tracing });
  await using face = await connectFace(executor);
  const failing = await face.call('mcp_m__failing', { password: 'hunter2' });
  expect(failing.isError).toBe(true);
  const begun = () =>
    recorder.spans().filter(({ kind, attributes }) => {
      return kind === 'server' && attributes['gen_ai.agent.id'] === 'sara';
    });
  await expect.poll(() => begun().length).toBe(1);
  expect(begun()[0]).toMatchObject({ parent: undefined, errorType: 'tool_error' });
  const ofServer = await traceOf(begun()[0]!.traceId, 6);
  expect(ofServer.get('client tools/call failing')).toMatchObject({ errorType: 'tool_error' });

  await face.call('mcp_m__meta', 'no object');
  await expect(face.call('mcp_m__unknown hunter2')).rejects.toThrow('there is no tool');
  await expect.poll(() => begun().length).toBe(3);
  expect(begun()[1]).toMatchObject({ name: 'tools/call mcp_m__meta', errorType: 'invalid_arguments' });
  const refused = await traceOf(begun()[1]!.traceId, 5);
  expect(refused.get('consumer process orchestrator')).toMatchObject({ errorType: 'invalid_arguments' });
  expect(begun()[2]).toMatchObject({ name: 'tools/call', errorType: '-32602' });
  expect(JSON.stringify(recorder.spans())).not.toContain('hunter2');
});

test.each(eras)('without tracing, the `_meta` of a %s client reaches the server', async (era) => {
  const executor = await plain.executor(`tom-${era}`);
  await using face = await connectFace(executor, { era });
  const metaOf = async (meta: Record<string, unknown>) => {
    const { structuredContent } = await face.call('mcp_m__meta', {}, { params: { _meta: meta } });
    return (structuredContent as { meta: unknown }).meta;
  };
  const vendor = { 'example.com/run': { id: 7 }, baggage: 'user=rosa' };
  expect(await metaOf({ ...vendor, traceparent: parent, tracestate: 'a=b' })).toEqual({
    ...vendor,
    traceparent: parent,
    tracestate: 'a=b',
  });
  expect(await metaOf({ ...vendor, traceparent: 'wrong', tracestate: 'a=b' })).toEqual(vendor);
  expect(await metaOf({ traceparent: 7, 'signalbox/error': 1 })).toBeNull();
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`x${i}`, i]));
  const refused = await face.call('mcp_m__meta', {}, { params: { _meta: many } });
  expect(refused).toMatchObject({
    isError: true,
    structuredContent: { error: { code: 'invalid_arguments' } },
  });
});

test('a call past the face cannot give the server what belongs to a connection', async () => {
  const client = await plain.client('uta');
  const meta = { progressToken: 1, traceparent: 'x', 'io.modelcontextprotocol/clientInfo': {}, mine: 1 };
  const body = { op: 'call', tool: 'mcp_m__meta', arguments: {}, meta };
  const outcome = await client.request('orchestrator', 'mcp_request', body, { timeoutMs: 10_000 });
  expect(outcome).toHaveProperty('reply.json.result.structuredContent', { meta: { mine: 1 } });
});
