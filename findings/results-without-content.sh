#!/usr/bin/env bash
# A result of MCP may have data (structuredContent) and no content: that the data stand in a text, too, is advice. Four agent frameworks give
# their model only the content of such a result, which is nothing; Strands says besides that there was no output. So the call has succeeded,
# and what it found is lost. Three others give their model the data.
#
# Seen on Linux with Node 24, for {"content":[],"structuredContent":{"celsius":21}}: what each makes of it for its model:
#   @ai-sdk/mcp 2.0.99: {"type":"content","value":[]}
#   @openai/agents 0.20.0: []
#   @langchain/mcp-adapters 1.1.4: []
#   @strands-agents/sdk 1.19.0: [{"text":"Tool execution completed successfully with no output."}]
#   @mastra/mcp 2.0.0: {"celsius":21}
#   @anthropic-ai/sdk 1.14.0: "{\"celsius\":21}"
#   @google/genai 3.3.0: {"content":[],"structuredContent":{"celsius":21}}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund --legacy-peer-deps @ai-sdk/mcp@2.0.99 @openai/agents@0.20.0 \
  @langchain/{mcp-adapters@1.1.4,core@1.4.0,langgraph@1.7.3} @strands-agents/sdk@1.19.0 @opentelemetry/api @mastra/{mcp@2.0.0,core@1.71.0} \
  @anthropic-ai/sdk@1.14.0 @google/genai@3.3.0 @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} zod@4.6.7 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const outputSchema = { type: 'object', properties: { celsius: { type: 'number' } }, required: ['celsius'] };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'it', version: '1.0.0' } },
    'tools/list': { tools: [{ name: 'read', description: 'Reads.', inputSchema: { type: 'object' }, outputSchema }] },
    'tools/call': { content: [], structuredContent: { celsius: 21 } },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: 'unknown' } }) }));
});
JS
cat > try.mjs <<'JS'
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { mcpTools } from '@anthropic-ai/sdk/helpers/beta/mcp';
import { mcpToTool } from '@google/genai';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { MCPClient } from '@mastra/mcp';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { getAllMcpTools, MCPServerStdio, RunContext } from '@openai/agents';
import { McpClient } from '@strands-agents/sdk';
const server = { command: process.execPath, args: ['server.mjs'] };
async function connected() {
  const client = new Client({ name: 'finding', version: '1.0.0' });
  await client.connect(new StdioClientTransport(server));
  return client;
}
const shown = {
  '@ai-sdk/mcp 2.0.99': async () => {
    const { read } = await (await createMCPClient({ transport: new Experimental_StdioMCPTransport(server) })).tools();
    const output = await read.execute({}, { toolCallId: '1', messages: [] });
    return read.toModelOutput({ output, toolCallId: '1', input: {} });
  },
  '@openai/agents 0.20.0': async () => {
    const mcpServers = [new MCPServerStdio(server)];
    await mcpServers[0].connect();
    const [tool] = await getAllMcpTools({ mcpServers, convertSchemasToStrict: false });
    return tool.invoke(new RunContext(), '{}');
  },
  '@langchain/mcp-adapters 1.1.4': async () => {
    const [tool] = await new MultiServerMCPClient({ mcpServers: { it: { transport: 'stdio', ...server } } }).getTools();
    return (await tool.invoke({ name: 'read', args: {}, id: '1', type: 'tool_call' })).content;
  },
  '@strands-agents/sdk 1.19.0': async () => {
    const [tool] = await new McpClient({ transport: new StdioClientTransport(server) }).listTools();
    const steps = tool.stream({ toolUse: { name: 'read', toolUseId: '1', input: {} }, agent: { state: {} }, invocationState: {} });
    let step = await steps.next();
    while (!step.done) step = await steps.next();
    return JSON.parse(JSON.stringify(step.value)).toolResult.content;
  },
  '@mastra/mcp 2.0.0': async () => (await new MCPClient({ servers: { it: server } }).listTools()).it_read.execute({}, {}),
  '@anthropic-ai/sdk 1.14.0': async () => {
    const client = await connected();
    return mcpTools((await client.listTools()).tools, client)[0].run({});
  },
  '@google/genai 3.3.0': async () => {
    const tool = mcpToTool(await connected());
    await tool.tool();
    return (await tool.callTool([{ name: 'read', args: {} }]))[0].functionResponse.response;
  },
};
for (const [name, show] of Object.entries(shown)) console.log(`${name}: ${JSON.stringify(await show())}`);
process.exit(0);
JS
node try.mjs 2> /dev/null | grep '^@' | tee seen
diff - seen <<'TXT'
@ai-sdk/mcp 2.0.99: {"type":"content","value":[]}
@openai/agents 0.20.0: []
@langchain/mcp-adapters 1.1.4: []
@strands-agents/sdk 1.19.0: [{"text":"Tool execution completed successfully with no output."}]
@mastra/mcp 2.0.0: {"celsius":21}
@anthropic-ai/sdk 1.14.0: "{\"celsius\":21}"
@google/genai 3.3.0: {"content":[],"structuredContent":{"celsius":21}}
TXT
