#!/usr/bin/env bash
# A tool may answer with a file, as a resource in its result or as a link to one, beside text or alone. @langchain/mcp-adapters 1.1.4 keeps
# the resource from the model: a tool that returns the text of a file has, as far as the model can see, succeeded and returned nothing. The
# helpers of @anthropic-ai/sdk 1.14.0 throw for a link, so that the text beside it is lost, too, though the tool has done its work.
# @google/genai 3.3.0 gives the model both.
#
# Seen on Linux with Node 24, whether the text of the answer is in what becomes of it:
#   resource: langchain [], anthropic shows it, genai shows it
#   link beside text: langchain shows it, anthropic Unsupported MCP content type: resource_link, genai shows it
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @langchain/{mcp-adapters@1.1.4,core@1.4.0,langgraph@1.7.3} @anthropic-ai/sdk@1.14.0 \
  @google/genai@3.3.0 @modelcontextprotocol/sdk@1.32.2 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const answers = {
  resource: [{ type: 'resource', resource: { uri: 'file:///report.txt', mimeType: 'text/plain', text: 'three lines were changed' } }],
  link: [{ type: 'text', text: 'three lines were changed' }, { type: 'resource_link', uri: 'file:///report.txt', name: 'report.txt' }],
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'server', version: '1.0.0' } },
    'tools/list': { tools: Object.keys(answers).map((name) => ({ name, inputSchema: { type: 'object' } })) },
    'tools/call': { content: answers[params?.name] },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: 'unknown' } }) }));
});
JS
cat > try.mjs <<'JS'
import { mcpTools } from '@anthropic-ai/sdk/helpers/beta/mcp';
import { mcpToTool } from '@google/genai';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
const server = { command: process.execPath, args: ['server.mjs'] };
const client = new Client({ name: 'finding', version: '1.0.0' });
await client.connect(new StdioClientTransport(server));
const langchain = await new MultiServerMCPClient({ mcpServers: { server: { transport: 'stdio', ...server } } }).getTools();
const anthropic = mcpTools((await client.listTools()).tools, client);
const genai = mcpToTool(client);
await genai.tool();
const named = (tools, wanted) => tools.find(({ name }) => name === wanted);
for (const [name, what] of [['resource', 'resource'], ['link', 'link beside text']]) {
  const call = {
    langchain: async () => (await named(langchain, name).invoke({ type: 'tool_call', id: '1', name, args: {} })).content,
    anthropic: () => named(anthropic, name).run({}),
    genai: () => genai.callTool([{ name, args: {} }]),
  };
  const told = [];
  for (const [who, run] of Object.entries(call)) {
    const given = await run().then(JSON.stringify, ({ message }) => message);
    told.push(`${who} ${given.includes('three lines were changed') ? 'shows it' : given}`);
  }
  console.log(`${what}: ${told.join(', ')}`);
}
process.exit(0);
JS
node try.mjs | tee seen
diff - seen <<'TXT'
resource: langchain [], anthropic shows it, genai shows it
link beside text: langchain shows it, anthropic Unsupported MCP content type: resource_link, genai shows it
TXT
