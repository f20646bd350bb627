#!/usr/bin/env bash
# The official clients of MCP (@modelcontextprotocol/sdk 1.32.2 and client 2.4.0) lose what a server announces over HTTP while their stream
# of notices is away. They open the stream again after a cut, such as that of a proxy after a minute of silence, but do not read a list
# again, also with `listChanged`, which is there to keep it fresh. After two answers of 502, such as those of a proxy whose server starts
# again, they never open the stream again, in a session that goes on: calls work, and announcements are lost from then on.
#
# Seen on Linux with Node 24: a list of tools gets a name while there is no stream, and later one while there should be one. The lists that
# listChanged gave, after a cut and after a cut with two answers of 502; the same with both:
#   cut: at the first change none, at the second one,two,three
#   cut, 502 twice: at the first change none, at the second none; a call: done
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} > /dev/null
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

async function served(refusals) {
  const tools = ['one'];
  let stream;
  let refused = 0;
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      // The first GET opens the stream.
      if (stream !== undefined && refused++ < refusals) return response.writeHead(502).end();
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      return stream.write(': open\n\n');
    }
    if (request.method === 'DELETE') return response.writeHead(200).end();
    let body = '';
    for await (const piece of request) body += piece;
    const { id, method } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    const results = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'it', version: '1.0.0' } },
      'tools/list': { tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) },
      'tools/call': { content: [{ type: 'text', text: 'done' }] },
    };
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'a' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no' } }) }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: new URL(`http://127.0.0.1:${server.address().port}/mcp`),
    hasStream: () => stream !== undefined,
    cut: () => stream.end(),
    add(name) {
      tools.push(name);
      if (!stream.writableEnded) stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n\n`);
    },
    close: () => server.close().closeAllConnections(),
  };
}

const told = [];
for (const [AnyClient, Transport] of [[Client, StreamableHTTPClientTransport], [NewClient, NewTransport]]) {
  const lines = [];
  for (const refusals of [0, 2]) {
    const server = await served(refusals);
    let lists = [];
    const onChanged = (error, tools) => lists.push(error?.message ?? tools.map(({ name }) => name).join());
    const client = new AnyClient({ name: 'finding', version: '1.0.0' }, { listChanged: { tools: { onChanged, debounceMs: 0 } } });
    await client.connect(new Transport(server.url));
    while (!server.hasStream()) await setTimeout(20);
    server.cut();
    server.add('two');
    // The waits of the clients before they open it again are 1 s and 1.5 s.
    await setTimeout(6_000);
    const [first] = lists;
    lists = [];
    server.add('three');
    await setTimeout(1_000);
    const { content } = await client.callTool({ name: 'one', arguments: {} });
    const call = refusals > 0 ? `; a call: ${content[0].text}` : '';
    lines.push(`cut${refusals > 0 ? ', 502 twice' : ''}: at the first change ${first ?? 'none'}, at the second ${lists[0] ?? 'none'}${call}\n`);
    await client.close();
    server.close();
  }
  told.push(lines.join(''));
}
process.stdout.write(told[0] === told[1] ? told[0] : told.join('\n'));
process.exit();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
cut: at the first change none, at the second one,two,three
cut, 502 twice: at the first change none, at the second none; a call: done
TXT
