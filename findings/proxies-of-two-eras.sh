#!/usr/bin/env bash
# A proxy of fastmcp 4.0.10 (PyPI) offers revision 2026-07-28 to its client whatever server is behind it, and asks the server for the same. A
# server of an older revision, as all of @modelcontextprotocol/sdk 1.32.2 are, cannot, and then the proxy answers tools/list with an empty list
# instead of an error, and knows no tool that is called. So clients that begin with server/discover see an empty server where clients that
# begin with initialize see all tools.
#
# Seen on Linux with Python 3.11 and Node 24, for client 2.4.0 that begins in each way: the revision, the tools, and a call:
#   the server itself, initialize: 2025-11-25: hello; hi
#   the server itself, server/discover: 2025-11-25: hello; hi
#   the proxy, initialize: 2025-11-25: hello; hi
#   the proxy, server/discover: 2026-07-28: no tools; Unknown tool: 'hello'
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} zod@4.6.7 > /dev/null
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check fastmcp==4.0.10 2> /dev/null
cat > server.mjs <<'JS'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
const server = new McpServer({ name: 'it', version: '1.0.0' });
server.registerTool('hello', {}, () => ({ content: [{ type: 'text', text: 'hi' }] }));
await server.connect(new StdioServerTransport());
JS
cat > proxy.py <<'PY'
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

create_proxy(StdioTransport('node', ['server.mjs'])).run(show_banner=False)
PY
cat > try.mjs <<'JS'
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
const servers = {
  'the server itself': { command: process.execPath, args: ['server.mjs'] },
  'the proxy': { command: 'venv/bin/python', args: ['proxy.py'] },
};
for (const [label, server] of Object.entries(servers)) {
  for (const [first, mode] of [['initialize', 'legacy'], ['server/discover', 'auto']]) {
    const client = new Client({ name: 'finding', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new StdioClientTransport({ ...server, stderr: 'ignore' }));
    const { tools } = await client.listTools();
    const { content } = await client.callTool({ name: 'hello', arguments: {} });
    const names = tools.map(({ name }) => name).join(', ') || 'no tools';
    console.log(`${label}, ${first}: ${client.getNegotiatedProtocolVersion()}: ${names}; ${content[0].text}`);
    await client.close();
  }
}
JS
node try.mjs | tee seen
diff - seen <<'TXT'
the server itself, initialize: 2025-11-25: hello; hi
the server itself, server/discover: 2025-11-25: hello; hi
the proxy, initialize: 2025-11-25: hello; hi
the proxy, server/discover: 2026-07-28: no tools; Unknown tool: 'hello'
TXT
