#!/usr/bin/env bash
# @traceloop/instrumentation-mcp 0.27.0 (OpenLLMetry) keeps the span of the connection and makes it the parent of each later request of that
# client, whatever span is active. So the calls of a tool are in none of the traces of the turns that made them: the calls of all turns and
# of all users are in one trace, that of connect(). Its own span ends with close(), and a process that is killed never sends it.
#
# Seen on Linux with Node 24: two turns, each a span of its own around a call of a client that was connected before. Each line a span, its
# trace and its parent:
#   initialize.mcp: trace 1, parent mcp.client.session
#   look.tool: trace 1, parent mcp.client.session
#   turn of rosa: trace 2, parent none
#   look.tool: trace 1, parent mcp.client.session
#   turn of ravi: trace 3, parent none
#   mcp.client.session: trace 1, parent none
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @traceloop/instrumentation-mcp@0.27.0 @modelcontextprotocol/sdk@1.32.2 \
  @opentelemetry/{api@1.9.1,sdk-trace-node@2.12.1} > /dev/null
cat > try.mjs <<'JS'
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { McpInstrumentation } from '@traceloop/instrumentation-mcp';
const exporter = new InMemorySpanExporter();
const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
tracerProvider.register();
const instrumentation = new McpInstrumentation();
instrumentation.setTracerProvider(tracerProvider);
instrumentation.manuallyInstrument({ Client });
const server = new McpServer({ name: 'it', version: '1.0.0' });
server.registerTool('look', {}, () => ({ content: [] }));
const [ours, theirs] = InMemoryTransport.createLinkedPair();
await server.connect(theirs);
const client = new Client({ name: 'finding', version: '1.0.0' });
await client.connect(ours);
for (const user of ['rosa', 'ravi'])
  await trace.getTracer('finding').startActiveSpan(`turn of ${user}`, async (span) => {
    await client.callTool({ name: 'look' });
    span.end();
  });
await client.close();
const spans = exporter.getFinishedSpans();
const traces = [...new Set(spans.map((span) => span.spanContext().traceId))];
for (const span of spans) {
  const parent = spans.find((other) => other.spanContext().spanId === span.parentSpanContext?.spanId);
  console.log(`${span.name}: trace ${traces.indexOf(span.spanContext().traceId) + 1}, parent ${parent?.name ?? 'none'}`);
}
JS
node try.mjs 2> /dev/null | tee seen
diff - seen <<'TXT'
initialize.mcp: trace 1, parent mcp.client.session
look.tool: trace 1, parent mcp.client.session
turn of rosa: trace 2, parent none
look.tool: trace 1, parent mcp.client.session
turn of ravi: trace 3, parent none
mcp.client.session: trace 1, parent none
TXT
