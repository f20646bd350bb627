import { existsSync } from 'node:fs';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { type Collector, causesIn, startCollector } from '../support/traces/collector.ts';
import { metaServer } from '../support/traces/meta-server-config.ts';
import { connectMcpClient } from '../support/worker/mcp-client.ts';

let collector: Collector;
let site: Workspace;

beforeAll(async () => {
  collector = await startCollector();
  const config = JSON.stringify({
    broker: { listen: '127.0.0.1:0', data: './state' },
    mcpServers: { m: metaServer() },
  });
  site = await startWorkspace(() => config, { face: true, env: collector.env() });
});
afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
});

test('a tool call is one trace through shim, shared face, orchestrator and hosted server', async () => {
  const { env } = await site.agent('rosa', 'worker');
  const { socket } = site.ready.face!;
  await expect.poll(() => existsSync(socket)).toBe(true);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: signalboxArgv(['worker', 'mcp']),
    stderr: 'pipe',
    env: cleanEnv({ ...env, SIGNALBOX_FACE: socket, ...collector.env('shim') }),
  });
  await using client = await connectMcpClient(transport);
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const _meta = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, 'example.com/run': 7 };
  const { structuredContent } = await client.call(
    'mcp_m__meta',
    { secret: 'hunter2' },
    { params: { _meta } },
  );
  await expect.poll(() => collector.trace(traceId).size).toBe(6);
  const trace = collector.trace(traceId);
  expect(causesIn(trace)).toEqual({
    'face: server tools/call mcp_m__meta': 'remote',
    'face: producer send orchestrator': 'face: server tools/call mcp_m__meta',
    'orchestrator: consumer process orchestrator': 'face: producer send orchestrator',
    'orchestrator: client tools/call meta': 'orchestrator: consumer process orchestrator',
    'orchestrator: producer send rosa': 'orchestrator: consumer process orchestrator',
    'face: client receive rosa': 'orchestrator: producer send rosa',
  });
  expect(trace.get('face: server tools/call mcp_m__meta')).toHaveProperty('parentSpanId', 'b7ad6b7169203331');
  const { spanId } = trace.get('orchestrator: client tools/call meta')!;
  expect(structuredContent).toEqual({
    meta: { traceparent: `00-${traceId}-${spanId}-01`, 'example.com/run': 7 },
  });
  expect(collector.spans().map(({ process }) => process)).not.toContain('shim');
  expect(JSON.stringify(collector.spans())).not.toContain('hunter2');
});
