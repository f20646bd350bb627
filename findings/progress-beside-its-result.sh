#!/usr/bin/env bash
# The official clients of MCP (@modelcontextprotocol/sdk 1.32.2 and client 2.4.0) lose progress that arrives together with the result of its
# call: the result is handled at once and ends the listening, notifications are handled a little later, though they came first. So a fast
# call reports nothing, a slow one loses its last report, and the client says that the token, which was its own, is unknown.
#
# Seen on Linux with Node 24: a server on stdio reports 1, 2 and 3 and answers. Reports seen, and errors told, if it writes all four lines
# together, if it waits before the last two, and if it waits before the answer; the same with both:
#   together: none, 3 of an unknown token
#   last two together: 1, 2, 1 of an unknown token
#   apart: 1, 2, 3, 0 of an unknown token
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
const line = (message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const send = (...messages) => process.stdout.write(messages.map(line).join(''));
createInterface({ input: process.stdin }).on('line', async (received) => {
  const { id, method, params } = JSON.parse(received);
  if (method === 'initialize')
    send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'it', version: '1.0.0' } } });
  if (method === 'tools/list')
    send({ id, result: { tools: ['0', '2', '3'].map((name) => ({ name, inputSchema: { type: 'object' } })) } });
  if (method !== 'tools/call') return;
  const { progressToken } = params._meta;
  const reports = [1, 2, 3].map((progress) => ({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } }));
  const early = Number(params.name);
  if (early > 0) {
    send(...reports.slice(0, early));
    await setTimeout(100);
  }
  send(...reports.slice(early), { id, result: { content: [] } });
});
JS
cat > try.mjs <<'JS'
import { Client as NewClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewTransport } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
const stdio = { command: process.execPath, args: ['server.mjs'] };
const told = [];
for (const [client, transport, others] of [
  [new Client({ name: 'finding', version: '1.0.0' }), new StdioClientTransport(stdio), [undefined]],
  [new NewClient({ name: 'finding', version: '1.0.0' }), new NewTransport(stdio), []],
]) {
  const lines = [];
  let unknown = 0;
  client.onerror = ({ message }) => message.includes('unknown token') && unknown++;
  await client.connect(transport);
  for (const [name, what] of [['0', 'together'], ['2', 'last two together'], ['3', 'apart']]) {
    unknown = 0;
    const seen = [];
    await client.callTool({ name, arguments: {} }, ...others, { onprogress: ({ progress }) => seen.push(progress) });
    lines.push(`${what}: ${seen.join(', ') || 'none'}, ${unknown} of an unknown token\n`);
  }
  told.push(lines.join(''));
  await client.close();
}
process.stdout.write(told[0] === told[1] ? told[0] : told.join('\n'));
JS
node try.mjs | tee seen
diff - seen <<'TXT'
together: none, 3 of an unknown token
last two together: 1, 2, 1 of an unknown token
apart: 1, 2, 3, 0 of an unknown token
TXT
