#!/usr/bin/env bash
# mcpToTool of @google/genai 3.3.0 calls the tools of MCP servers for a model of Gemini, which gives each of its calls an id and reads the id
# in the answer. The answers have none, so that the Live API's session of the same SDK refuses to send them. A name that no server knows gets
# no answer at all, so that those behind it move up. And if a server answers one call with an error of JSON-RPC, callTool throws: the answers
# of the calls before it, which have run, are lost with it.
#
# Seen on Linux with Node 24: the calls of one turn of the model, and what the tools said meanwhile and what callTool gives:
#   a (1), b (2): ran a, b; a without id, b without id
#   unknown (1), b (2): ran b; b without id
#   a (1), refused (2): ran a; throws quota is used up
#   sent to the model: FunctionResponse request must have an `id` field from the response of a ToolCall.FunctionalCalls in Google AI.
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @google/genai@3.3.0 @modelcontextprotocol/sdk@1.32.2 > /dev/null
cat > try.mjs <<'JS'
import { mcpToTool, Session } from '@google/genai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
let ran = [];
const server = new Server({ name: 'it', version: '1.0.0' }, { capabilities: { tools: {} } });
const tools = ['a', 'b', 'refused'].map((name) => ({ name, inputSchema: { type: 'object' } }));
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, ({ params: { name } }) => {
  if (name === 'refused') throw new McpError(-32010, 'quota is used up');
  ran.push(name);
  return { content: [{ type: 'text', text: name }] };
});
const client = new Client({ name: 'finding', version: '1.0.0' });
const [ours, theirs] = InMemoryTransport.createLinkedPair();
await server.connect(theirs);
await client.connect(ours);
const session = new Session({ send: () => {} }, { isVertexAI: () => false });
const sent = (functionResponses) => {
  try {
    session.sendToolResponse({ functionResponses });
    return 'taken';
  } catch ({ message }) {
    return message.trim();
  }
};
for (const names of [['a', 'b'], ['unknown', 'b'], ['a', 'refused']]) {
  ran = [];
  const calls = names.map((name, index) => ({ id: `${index + 1}`, name, args: {} }));
  const shown = (parts) => parts.map(({ functionResponse: { id, name } }) => `${name} ${id ? `as ${id}` : 'without id'}`).join(', ');
  const told = await mcpToTool(client).callTool(calls).then(shown, ({ message }) => `throws ${/quota is used up/.exec(message)?.[0]}`);
  console.log(`${calls.map(({ id, name }) => `${name} (${id})`).join(', ')}: ran ${ran.join(', ')}; ${told}`);
}
const answers = await mcpToTool(client).callTool([{ id: '1', name: 'a', args: {} }]);
console.log('sent to the model:', sent(answers.map(({ functionResponse }) => functionResponse)));
JS
node try.mjs 2> /dev/null | tee seen
diff - seen <<'TXT'
a (1), b (2): ran a, b; a without id, b without id
unknown (1), b (2): ran b; b without id
a (1), refused (2): ran a; throws quota is used up
sent to the model: FunctionResponse request must have an `id` field from the response of a ToolCall.FunctionalCalls in Google AI.
TXT
