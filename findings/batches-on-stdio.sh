#!/usr/bin/env bash
# Servers of the official SDK agree to revision 2025-03-26, which says that a server must take JSON-RPC batches. Over HTTP
# @modelcontextprotocol/sdk 1.32.2 answers one; on stdio it drops the same batch with all its requests, says nothing, and answers the next
# message. So does @modelcontextprotocol/server 2.4.0 on stdio. A client of that revision waits for answers that nobody will send.
#
# Seen on Linux with Node 24, a batch of requests 1 and 2, then request 3 alone: ids that were answered:
#   sdk 1.32.2, HTTP: 1, 2, 3
#   sdk 1.32.2, stdio: 3
#   server 2.4.0, stdio: 3
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/{sdk@1.32.2,server@2.4.0} > /dev/null
cat > server.mjs <<'JS'
const [serverModule, transportModule] = process.argv.slice(2);
const { McpServer } = await import(serverModule);
const { StdioServerTransport } = await import(transportModule);
await new McpServer({ name: 'server', version: '1.0.0' }).connect(new StdioServerTransport());
JS
cat > try.mjs <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'finding', version: '1.0.0' } };
const ping = (id) => ({ jsonrpc: '2.0', id, method: 'ping' });
const messages = [
  { jsonrpc: '2.0', id: 0, method: 'initialize', params }, { jsonrpc: '2.0', method: 'notifications/initialized' }, [ping(1), ping(2)], ping(3),
];
const show = (title, answers) => console.log(`${title}: ${answers.flat().map(({ id }) => id).filter((id) => id > 0).join(', ')}`);

const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'session', enableJsonResponse: true });
await new McpServer({ name: 'server', version: '1.0.0' }).connect(transport);
const http = createServer((request, response) => transport.handleRequest(request, response)).listen(0, '127.0.0.1');
await once(http, 'listening');
const answers = [];
for (const [index, message] of messages.entries()) {
  const session = index === 0 ? {} : { 'mcp-session-id': 'session', 'mcp-protocol-version': '2025-03-26' };
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...session };
  const answer = await fetch(`http://127.0.0.1:${http.address().port}`, { method: 'POST', headers, body: JSON.stringify(message) });
  answers.push(JSON.parse((await answer.text()) || '[]'));
}
show('sdk 1.32.2, HTTP', answers);
http.close();
http.closeAllConnections();

const sdk = '@modelcontextprotocol/sdk/server';
const stdio = {
  'sdk 1.32.2': [`${sdk}/mcp.js`, `${sdk}/stdio.js`],
  'server 2.4.0': ['@modelcontextprotocol/server', '@modelcontextprotocol/server/stdio'],
};
for (const [name, modules] of Object.entries(stdio)) {
  const server = spawn(process.execPath, ['server.mjs', ...modules], { stdio: ['pipe', 'pipe', 'inherit'] });
  for (const message of messages) server.stdin.write(`${JSON.stringify(message)}\n`);
  const told = [];
  for await (const line of createInterface({ input: server.stdout })) {
    told.push(JSON.parse(line));
    if (told.at(-1).id === 3) break;
  }
  show(`${name}, stdio`, told);
  server.kill();
}
JS
node try.mjs | tee seen
diff - seen <<'TXT'
sdk 1.32.2, HTTP: 1, 2, 3
sdk 1.32.2, stdio: 3
server 2.4.0, stdio: 3
TXT
