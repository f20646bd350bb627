#!/usr/bin/env bash
# A server may answer 401 with several challenges in one WWW-Authenticate, in any order (RFC 9110 §11.6.1), such as Basic for people and
# Bearer for programs. Three clients of MCP read resource_metadata only if the header begins with the right word, and else try the default
# addresses. So the same two challenges lead to the server's sign-in or past it: @modelcontextprotocol/sdk 1.32.2 and @ai-sdk/mcp 2.0.99
# need Bearer first, @modelcontextprotocol/client 2.4.0 takes DPoP first, too.
#
# Seen on Linux with Node 24, whether each asks for the address that the challenge names:
#   Bearer, Basic: sdk yes, client yes, ai-sdk yes
#   Basic, Bearer: sdk no, client no, ai-sdk no
#   DPoP, Bearer: sdk no, client yes, ai-sdk no
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} @ai-sdk/mcp@2.0.99 zod@4.6.7 > /dev/null
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createMCPClient } from '@ai-sdk/mcp';
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
const asked = new Set();
let challenges = [];
const server = createServer((request, response) => {
  asked.add(request.url);
  request.resume();
  if (request.url === '/mcp') response.setHeader('www-authenticate', challenges.join(', '));
  if (request.url !== '/metadata') return response.writeHead(request.url === '/mcp' ? 401 : 404).end();
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ resource: `${origin}/mcp`, authorization_servers: [`${origin}/sign-in`] }));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
const url = new URL(`${origin}/mcp`);
const authProvider = {
  redirectUrl: `${origin}/back`,
  clientMetadata: { redirect_uris: [`${origin}/back`] },
  clientInformation: () => ({ client_id: 'finding' }),
  codeVerifier: () => 'verifier',
  state: () => 'state',
  tokens: () => undefined,
  redirectToAuthorization() {},
  saveCodeVerifier() {},
  saveTokens() {},
};
const own = { name: 'finding', version: '1.0.0' };
const connect = {
  sdk: () => new Client(own).connect(new StreamableHTTPClientTransport(url, { authProvider })),
  client: () => new NewClient(own).connect(new NewTransport(url, { authProvider })),
  'ai-sdk': () => createMCPClient({ transport: { type: 'http', url: url.href, authProvider } }),
};
const schemes = { Bearer: `Bearer resource_metadata="${origin}/metadata"`, Basic: 'Basic realm="people"', DPoP: 'DPoP algs="ES256"' };
for (const names of [['Bearer', 'Basic'], ['Basic', 'Bearer'], ['DPoP', 'Bearer']]) {
  challenges = names.map((name) => schemes[name]);
  const told = [];
  for (const [name, start] of Object.entries(connect)) {
    asked.clear();
    await start().catch(() => {});
    if (!asked.has('/mcp')) throw new Error(`${name} did not ask`);
    told.push(`${name} ${asked.has('/metadata') ? 'yes' : 'no'}`);
  }
  console.log(`${names.join(', ')}: ${told.join(', ')}`);
}
process.exit(0);
JS
node try.mjs 2> /dev/null | tee seen
diff - seen <<'TXT'
Bearer, Basic: sdk yes, client yes, ai-sdk yes
Basic, Bearer: sdk no, client no, ai-sdk no
DPoP, Bearer: sdk no, client yes, ai-sdk no
TXT
