#!/usr/bin/env bash
# A tool says isError: true in its result if it failed. @ai-sdk/mcp 2.0.99 and @openai/agents 0.20.0 do not tell the model: what they make of
# a failed call for it is the same, to the letter, as of one that succeeded with that text. So a tool whose text does not say itself that it
# failed has succeeded, as far as the model can see.
#
# Seen on Linux with Node 24, for results with the text "3 files":
#   ai-sdk, succeeded: {"type":"content","value":[{"type":"text","text":"3 files"}]}
#   ai-sdk, failed: {"type":"content","value":[{"type":"text","text":"3 files"}]}
#   openai agents, succeeded: {"type":"text","text":"3 files"}
#   openai agents, failed: {"type":"text","text":"3 files"}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @ai-sdk/mcp@2.0.99 @openai/agents@0.20.0 zod@4.6.7 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const tools = ['succeeded', 'failed'].map((name) => ({ name, inputSchema: { type: 'object' } }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'server', version: '1.0.0' } },
    'tools/list': { tools },
    'tools/call': { content: [{ type: 'text', text: '3 files' }], isError: params?.name === 'failed' },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: `no ${method}` } }) }));
});
JS
cat > try.mjs <<'JS'
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as Transport } from '@ai-sdk/mcp/mcp-stdio';
import { getAllMcpTools, MCPServerStdio } from '@openai/agents';
const server = { command: process.execPath, args: ['server.mjs'] };
const client = await createMCPClient({ transport: new Transport(server) });
for (const [name, { execute, toModelOutput }] of Object.entries(await client.tools())) {
  const call = { toolCallId: 'call', input: {} };
  const output = await execute({}, { ...call, messages: [] });
  console.log(`ai-sdk, ${name}: ${JSON.stringify(await toModelOutput({ ...call, output }))}`);
}
await client.close();
const agents = new MCPServerStdio({ ...server, name: 'server' });
await agents.connect();
for (const { name, invoke } of await getAllMcpTools({ mcpServers: [agents] }))
  console.log(`openai agents, ${name}: ${JSON.stringify(await invoke({ context: {} }, '{}'))}`);
await agents.close();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
ai-sdk, succeeded: {"type":"content","value":[{"type":"text","text":"3 files"}]}
ai-sdk, failed: {"type":"content","value":[{"type":"text","text":"3 files"}]}
openai agents, succeeded: {"type":"text","text":"3 files"}
openai agents, failed: {"type":"text","text":"3 files"}
TXT
