#!/usr/bin/env bash
# The official Python SDK (mcp 2.3.0) reads no event above 1 MiB from a server behind HTTP, and its own servers put each result into one
# event for clients of a revision before 2026-07-28. So a longer result of a tool reaches such a client on stdio, and the client in
# TypeScript over HTTP, but not the client in Python over HTTP, whose call fails. max_sse_event_size=None of its transport lifts the limit.
#
# Seen on Linux with Python 3.11 and Node 24, for a text of 1,200,000 characters in revision 2025-11-25:
#   Python, stdio: 1200000
#   Python, HTTP: SSE stream failed: Server-sent event exceeded the 1048576 byte limit.
#   Python, HTTP, max_sse_event_size=None: 1200000
#   TypeScript, HTTP: 1200000
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0 2> /dev/null
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @modelcontextprotocol/client@2.4.0 > /dev/null
cat > server.py <<'PY'
import sys
from mcp.server import MCPServer

server = MCPServer('server')


@server.tool(structured_output=False)
def long() -> str:
    return 'x' * 1_200_000


if len(sys.argv) > 1:
    server.run('streamable-http', port=int(sys.argv[1]))
else:
    server.run()
PY
cat > try.py <<'PY'
import asyncio
import sys
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

url = sys.argv[1]
ways = {
    'stdio': StdioServerParameters(command=sys.executable, args=['server.py']),
    'HTTP': streamable_http_client(url),
    'HTTP, max_sse_event_size=None': streamable_http_client(url, max_sse_event_size=None),
}


async def main():
    for name, way in ways.items():
        async with Client(way, mode='legacy') as client:
            try:
                print(f'Python, {name}:', len((await client.call_tool('long')).content[0].text))
            except Exception as error:
                print(f'Python, {name}:', error)


asyncio.run(main())
PY
cat > try.mjs <<'JS'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
const client = new Client({ name: 'finding', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { content } = await client.callTool({ name: 'long', arguments: {} });
console.log('TypeScript, HTTP:', content[0].text.length);
process.exit(0);
JS
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
venv/bin/python server.py "$port" > /dev/null 2>&1 &
server=$!
until (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do sleep 0.1; done
{
  venv/bin/python try.py "http://127.0.0.1:$port/mcp" 2> /dev/null
  node try.mjs "http://127.0.0.1:$port/mcp"
} | tee seen
diff - seen <<'TXT'
Python, stdio: 1200000
Python, HTTP: SSE stream failed: Server-sent event exceeded the 1048576 byte limit.
Python, HTTP, max_sse_event_size=None: 1200000
TypeScript, HTTP: 1200000
TXT
