#!/usr/bin/env bash
# A tool of fastmcp 4.20.16 (npm) may give its result bit by bit with streamContent, and return nothing. What it gives goes out as a
# notification of fastmcp's own, which no revision of MCP knows, and the result of the call is empty: the official clients drop the one
# without an error, and return the other.
#
# Seen on Linux with Node 24, by a tool that streams "one" and "two"; the lines of the server on stdio, and what clients get:
#   notifications/tool/streamContent [{"type":"text","text":"one"}]
#   notifications/tool/streamContent [{"type":"text","text":"two"}]
#   result []
#   sdk 1.32.2: [], errors: 0
#   client 2.4.0: [], errors: 0
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund fastmcp@4.20.16 @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} > /dev/null
cat > server.mjs <<'JS'
import { FastMCP } from 'fastmcp';
const server = new FastMCP({ name: 'server', version: '1.0.0' });
server.addTool({
  name: 'count',
  description: 'Counts to two.',
  annotations: { streamingHint: true },
  async execute(_, { streamContent }) {
    for (const text of ['one', 'two']) await streamContent({ type: 'text', text });
  },
});
await server.start({ transportType: 'stdio' });
JS
cat > try.mjs <<'JS'
import { Client as NewClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewTransport } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
const own = { name: 'finding', version: '1.0.0' };
const stdio = { command: process.execPath, args: ['server.mjs'], stderr: 'ignore' };
for (const [name, client, transport] of [
  ['sdk 1.32.2', new Client(own), new StdioClientTransport(stdio)],
  ['client 2.4.0', new NewClient(own), new NewTransport(stdio)],
]) {
  let errors = 0;
  client.onerror = () => errors++;
  await client.connect(transport);
  if (name.startsWith('sdk')) {
    const receive = transport.onmessage;
    transport.onmessage = (message, ...others) => {
      if (message.result?.content) console.log('result', JSON.stringify(message.result.content));
      if (message.params?.content) console.log(message.method, JSON.stringify(message.params.content));
      receive(message, ...others);
    };
  }
  const { content } = await client.callTool({ name: 'count', arguments: {} });
  console.log(`${name}: ${JSON.stringify(content)}, errors: ${errors}`);
  await client.close();
}
process.exit(0);
JS
node try.mjs | tee seen
diff - seen <<'TXT'
notifications/tool/streamContent [{"type":"text","text":"one"}]
notifications/tool/streamContent [{"type":"text","text":"two"}]
result []
sdk 1.32.2: [], errors: 0
client 2.4.0: [], errors: 0
TXT
