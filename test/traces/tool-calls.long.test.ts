import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { connectBroker } from '@signalbox/client';
import { toolCallError } from '@signalbox/protocol';
import { serveHttpFace } from '@signalbox/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEndpoint } from '../support/mcp-host/http-endpoint.ts';
import { startToolStack, type ToolStack } from '../support/orchestrator/tool-stack.ts';
import { metaServer } from '../support/traces/meta-server-config.ts';
import { recordSpans, type SpanRecorder } from '../support/traces/span-recorder.ts';
import { connectHttpFace } from '../support/worker/http-face.ts';
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

test.each(eras)('a server behind HTTP gets the `_meta` beside its own, in its %s revision', async (era) => {
  const metas: unknown[] = [];
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'http', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'meta', inputSchema: { type: 'object' } }],
    }));
    server.setRequestHandler('tools/call', (_request, { mcpReq }) => {
      metas.push(mcpReq._meta);
      return { content: [] };
    });
    return server;
  });
  await using endpoint = await startEndpoint((request) => handler.fetch(request));
  const h = {
    type: 'http' as const,
    url: endpoint.url,
    protocol: era === 'legacy' ? era : ('auto' as const),
  };
  const { tracing } = recorder;
  await using stack = await startToolStack({ counter: false, servers: { h }, tracing });
  const agent = `vera-${era}`;
  const executor = await stack.executor(agent, 'worker', { tracing });
  await using face = await connectFace(executor, { era });
  const onprogress = () => {};
  await face.call('mcp_h__meta', {}, { params: { _meta: { mine: 1, tracestate: 'a=b' } }, onprogress });
  const calls = () =>
    recorder.spans().filter(({ kind, attributes }) => {
      return (
        kind === 'client' && attributes['signalbox.server'] === 'h' && attributes['gen_ai.agent.id'] === agent
      );
    });
  await expect.poll(() => calls().length).toBe(1);
  expect(calls()[0]!.attributes['network.transport']).toBe('tcp');
  expect(metas).toHaveLength(1);
  expect(metas[0]).toMatchObject({ mine: 1, traceparent: calls()[0]!.traceparent });
  expect(metas[0]).toHaveProperty('progressToken');
  expect(metas[0]).not.toHaveProperty('tracestate');
});

test('a call that the next orchestrator takes over is linked to the work of the first one', async () => {
  const second = recordSpans();
  await using stack = await startToolStack({ tracing: recorder.tracing });
  const executor = await stack.executor('will');
  const given = parent.replace('0af', '3af');
  const call = executor.execute(
    { name: 'mcp_counter__gate', arguments: { file: `${stack.directory}/open` } },
    { traceparent: given },
  );
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  const seen: (string | undefined)[] = [];
  const token = await stack.broker.tokenOf('orchestrator', 'orchestrator');
  const { url } = stack.broker;
  await using next = await connectBroker({ url, token, agent: 'orchestrator', tracing: second.tracing });
  await next.serve(['mcp_request'], async ({ message }) => {
    seen.push(message.first_attempt);
    return { kind: 'mcp_reply', body: { error: toolCallError('cancelled', 'x', { mayHaveRun: true }) } };
  });
  expect(await call).toMatchObject({ error: { code: 'cancelled' } });
  expect(seen).toEqual([expect.stringContaining(given.slice(3, 35))]);
  expect(second.span('process orchestrator')).toMatchObject({
    traceId: given.slice(3, 35),
    links: ['remote'],
  });
});

test.each(eras)('a %s call over HTTP is a child of the span that its client names', async (era) => {
  const { tracing } = recorder;
  const servers = { m: metaServer() };
  await using stack = await startToolStack({ counter: false, servers, tracing });
  const connect = { url: stack.broker.url, tracing };
  await using face = await serveHttpFace({ listen: { host: '127.0.0.1', port: 0 }, connect, version: '1' });
  const token = await stack.broker.tokenOf('xena', 'worker');
  await using client = await connectHttpFace(face.url, token, era);
  const traceId = parentTrace.replace('0af', era === 'legacy' ? '4af' : '5af');
  const _meta = { traceparent: parent.replace(parentTrace, traceId) };
  await client.call('mcp_m__meta', {}, { params: { _meta } });
  const spans = await traceOf(traceId, 6);
  expect(spans.get('server tools/call mcp_m__meta')).toMatchObject({
    parentId: parent.slice(36, 52),
    attributes: { 'network.transport': 'tcp', 'gen_ai.agent.id': 'xena' },
  });
});
