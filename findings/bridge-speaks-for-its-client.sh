#!/usr/bin/env bash
# supergateway 4.0.0, as a bridge from standard input and output to a server over HTTP, tells the server that it has all abilities of its
# client, and has none of them: requests for sampling, elicitation and roots never reach the client, and are refused in its name. Nothing
# that the server says besides answers arrives either: no progress, no log messages. The official server lists its three tools for
# such clients, and each of them fails.
#
# Seen on Linux with Node 24, @modelcontextprotocol/server-everything 2026.8.31 and a client of @modelcontextprotocol/sdk 1.32.2 that can be
# asked for all of it, directly and through the bridge:
#   directly: 16 tools, asked for sampling, elicitation, roots; 3 reports of progress, log messages
#   through supergateway: 16 tools, asked for nothing; 0 reports of progress, no log messages
#   what the tools say then: MCP error -32601: Method not found
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null; rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund supergateway@4.0.0 @modelcontextprotocol/{sdk@1.32.2,server-everything@2026.8.31} > /dev/null
port=$(node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
PORT=$port node node_modules/@modelcontextprotocol/server-everything/dist/index.js streamableHttp > server.log 2>&1 &
server=$!
cat > try.mjs <<'JS'
import { setTimeout } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
const url = `http://127.0.0.1:${process.argv[2]}/mcp`;
while (!(await fetch(url, { method: 'DELETE' }).catch(() => undefined))) await setTimeout(100);
const bridge = ['node_modules/supergateway/dist/index.js', '--streamableHttp', url, '--outputTransport', 'stdio'];
for (const [how, transport] of [
  ['directly', new StreamableHTTPClientTransport(new URL(url))],
  ['through supergateway', new StdioClientTransport({ command: process.execPath, args: bridge, stderr: 'ignore' })],
]) {
  const client = new Client({ name: 'finding', version: '1.0.0' }, { capabilities: { sampling: {}, elicitation: {}, roots: {} } });
  const asked = new Set();
  let logged = 0;
  const answer = (schema, what, result) => client.setRequestHandler(schema, () => (asked.add(what), result));
  answer(CreateMessageRequestSchema, 'sampling', { model: 'm', role: 'assistant', content: { type: 'text', text: 'said' } });
  answer(ElicitRequestSchema, 'elicitation', { action: 'accept', content: { name: 'rosa' } });
  answer(ListRootsRequestSchema, 'roots', { roots: [{ uri: 'file:///tmp', name: 'tmp' }] });
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => void logged++);
  await client.connect(transport);
  await setTimeout(1_500);
  const call = async (name, args = {}, options) => {
    const { content } = await client.callTool({ name, arguments: args }, undefined, options);
    return content[0].text;
  };
  const { tools } = await client.listTools();
  const said = new Set();
  for (const [name, args] of [['trigger-sampling-request', { prompt: 'say', maxTokens: 5 }], ['trigger-elicitation-request', {}]]) said.add(await call(name, args));
  await call('get-roots-list');
  let reports = 0;
  await call('trigger-long-running-operation', { duration: 1, steps: 3 }, { onprogress: () => void reports++ });
  await call('toggle-simulated-logging');
  await setTimeout(6_000);
  const questions = ['sampling', 'elicitation', 'roots'].filter((what) => asked.has(what)).join(', ') || 'nothing';
  console.log(`${how}: ${tools.length} tools, asked for ${questions}; ${reports} reports of progress, ${logged > 0 ? 'log' : 'no log'} messages`);
  if (asked.size === 0) console.log(`what the tools say then: ${[...said].join(' | ')}`);
  await client.close();
}
process.exit();
JS
node try.mjs "$port" | tee seen
diff - seen <<'TXT'
directly: 16 tools, asked for sampling, elicitation, roots; 3 reports of progress, log messages
through supergateway: 16 tools, asked for nothing; 0 reports of progress, no log messages
what the tools say then: MCP error -32601: Method not found
TXT
