#!/usr/bin/env bash
# Two tools whose names differ become one in two agent frameworks. @openai/agents 0.20.0 writes an underscore for a dot, which names of MCP may
# have, and gives its agent no tool at all if a server has both a.b and a_b; it says that servers have the same tool. @mastra/mcp 2.0.0 joins
# the names of server and tool by an underscore: of the tools hub_search of git and search of git_hub one is silently gone, and calls meant
# for it go to the other server. @langchain/mcp-adapters 1.1.4 gives its model all of them as they are.
#
# Seen on Linux with Node 24: what each makes of the tools of a server, and of two servers:
#   openai agents, {it: a.b, a_b}: Duplicate tool names found across MCP servers: a_b
#   langchain, {it: a.b, a_b}: a.b, a_b
#   mastra, {git: hub_search; git_hub: search}: git_hub_search, which calls search
#   langchain, {git: hub_search; git_hub: search}: hub_search, search
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund --legacy-peer-deps @openai/agents@0.20.0 @mastra/{mcp@2.0.0,core@1.71.0} \
  @langchain/{mcp-adapters@1.1.4,core@1.4.0,langgraph@1.7.3} @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} zod@4.6.7 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const tools = process.argv.slice(2).map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'it', version: '1.0.0' } },
    'tools/list': { tools },
    'tools/call': { content: [{ type: 'text', text: params?.name }] },
  };
  const found = results[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(found ? { result: found } : { error: { code: -32601, message: 'unknown' } }) }));
});
JS
cat > try.mjs <<'JS'
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { MCPClient } from '@mastra/mcp';
import { getAllMcpTools, MCPServerStdio } from '@openai/agents';
const server = (...names) => ({ command: process.execPath, args: ['server.mjs', ...names] });
const one = { it: server('a.b', 'a_b') };
const two = { git: server('hub_search'), git_hub: server('search') };
async function langchain(servers) {
  const entries = Object.entries(servers).map(([name, entry]) => [name, { transport: 'stdio', ...entry }]);
  const tools = await new MultiServerMCPClient({ mcpServers: Object.fromEntries(entries) }).getTools();
  return tools.map(({ name }) => name).join(', ');
}
const mcpServers = [new MCPServerStdio(one.it)];
await mcpServers[0].connect();
const agents = await getAllMcpTools({ mcpServers, convertSchemasToStrict: false }).catch(({ message }) => message);
console.log('openai agents, {it: a.b, a_b}:', agents);
console.log('langchain, {it: a.b, a_b}:', await langchain(one));
const mastra = Object.entries(await new MCPClient({ servers: two }).listTools());
const calls = mastra.map(async ([name, tool]) => `${name}, which calls ${(await tool.execute({}, {})).content[0].text}`);
console.log('mastra, {git: hub_search; git_hub: search}:', (await Promise.all(calls)).join('; '));
console.log('langchain, {git: hub_search; git_hub: search}:', await langchain(two));
process.exit(0);
JS
node try.mjs 2> /dev/null | grep -E '^(openai agents|mastra|langchain), ' | tee seen
diff - seen <<'TXT'
openai agents, {it: a.b, a_b}: Duplicate tool names found across MCP servers: a_b
langchain, {it: a.b, a_b}: a.b, a_b
mastra, {git: hub_search; git_hub: search}: git_hub_search, which calls search
langchain, {git: hub_search; git_hub: search}: hub_search, search
TXT
