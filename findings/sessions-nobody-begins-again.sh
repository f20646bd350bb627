#!/usr/bin/env bash
# MCP says that a server answers 404 to a session that it does not know, and that a client begins a new one then. The official clients
# (@modelcontextprotocol/sdk 1.32.2 and client 2.4.0) and the bridge supergateway 4.0.0 do not: after a restart of the server each call
# fails, for ever. The bridge mcp-remote 0.15.1 does, but the official server-everything 2026.8.31 answers 400, after which it does not.
#
# Seen on Linux with Node 24: handshakes in all, and calls that work after the restart. The last line is about the status of the official
# server for an unknown session, and mcp-remote with a server that answers so:
#   404, sdk 1.32.2: 1 handshake, 0 of 3 calls
#   404, client 2.4.0: 1 handshake, 0 of 3 calls
#   404, supergateway 4.0.0: 1 handshake, 0 of 3 calls
#   404, mcp-remote 0.15.1: 2 handshakes, 3 of 3 calls
#   400 (as server-everything), mcp-remote 0.15.1: 1 handshake, 0 of 3 calls
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} mcp-remote@0.15.1 supergateway@4.0.0 \
  @modelcontextprotocol/server-everything@2026.8.31 > /dev/null
cat > try.mjs <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

let handshakes = 0;
let forgotten = 0;
let status = 404;
const server = createServer(async (request, response) => {
  const session = Number(request.headers['mcp-session-id']);
  if (request.method !== 'POST') return response.writeHead(405).end();
  let body = '';
  for await (const piece of request) body += piece;
  const { id, method } = JSON.parse(body);
  if (method !== 'initialize' && !(session > forgotten)) return response.writeHead(status).end();
  if (id === undefined) return response.writeHead(202).end();
  if (method === 'initialize') handshakes++;
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'it', version: '1.0.0' } },
    'tools/call': { content: [] },
  };
  const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no such method' } };
  response.writeHead(200, { 'content-type': 'application/json', ...(method === 'initialize' && { 'mcp-session-id': String(handshakes) }) });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}/mcp`;

/** A client of a bridge, without a library that could hide anything. */
async function bridged(...args) {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, MCP_REMOTE_CONFIG_DIR: 'remote' } });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  let last = 0;
  const ask = (method, params) => {
    const id = ++last;
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise((resolve) => waiting.set(id, resolve));
  };
  await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'finding', version: '1.0.0' } });
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  return {
    call: async () => 'result' in (await ask('tools/call', { name: 'any', arguments: {} })),
    close: () => child.kill(),
  };
}

async function official(client, transport) {
  await client.connect(transport);
  return { call: () => client.callTool({ name: 'any', arguments: {} }).then(() => true, () => false), close: () => client.close() };
}

async function tried(how, { call, close }) {
  const before = handshakes - 1;
  if (!(await call())) throw new Error(`${how} does not work at all`);
  forgotten = handshakes;
  let worked = 0;
  for (let i = 0; i < 3; i++) if (await call()) worked++;
  const seen = handshakes - before;
  console.log(`${how}: ${seen} handshake${seen === 1 ? '' : 's'}, ${worked} of 3 calls`);
  await close();
}

/** Returns the status that the official server answers to an unknown session. */
async function officialStatus() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  const child = spawn(process.execPath, ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'streamableHttp'], {
    stdio: 'ignore', env: { ...process.env, PORT: String(port) },
  });
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-session-id': '0d4b1a54-4a3e-4f6b-8a77-2f1d2c3b4a5e' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body }).catch(() => undefined);
    if (answer) return child.kill(), answer.status;
    await setTimeout(100);
  }
}

const info = { name: 'finding', version: '1.0.0' };
const remote = () => bridged('node_modules/mcp-remote/dist/proxy.js', url, '--allow-http', '--transport', 'http-only');
await tried('404, sdk 1.32.2', await official(new Client(info), new StreamableHTTPClientTransport(new URL(url))));
await tried('404, client 2.4.0', await official(new NewClient(info), new NewTransport(new URL(url))));
await tried('404, supergateway 4.0.0', await bridged('node_modules/supergateway/dist/index.js', '--streamableHttp', url, '--outputTransport', 'stdio'));
await tried('404, mcp-remote 0.15.1', await remote());
status = await officialStatus();
await tried(`${status} (as server-everything), mcp-remote 0.15.1`, await remote());
process.exit();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
404, sdk 1.32.2: 1 handshake, 0 of 3 calls
404, client 2.4.0: 1 handshake, 0 of 3 calls
404, supergateway 4.0.0: 1 handshake, 0 of 3 calls
404, mcp-remote 0.15.1: 2 handshakes, 3 of 3 calls
400 (as server-everything), mcp-remote 0.15.1: 1 handshake, 0 of 3 calls
TXT
