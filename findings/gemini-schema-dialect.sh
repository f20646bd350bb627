#!/usr/bin/env bash
# gemini-cli 0.61.0 speaks revision 2025-06-18 of MCP, which names no dialect of JSON Schema; since 2025-11-25 a schema without $schema is
# 2020-12. It reads such an inputSchema as draft-07, where `items: false` allows no element at all: it refuses arguments that fit a tuple
# before the server hears of them, and takes the same ones where the schema names its dialect. A scripted model calls both tools with
# {"pair": ["a", 1]}.
#
# Seen on Linux with Node 24:
#   silent: refused, params/pair/0 boolean schema is false
#   named: called
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @google/gemini-cli@0.61.0 > /dev/null
cat > server.mjs <<'JS'
import { createInterface } from 'node:readline';
const pair = { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false };
const schema = { type: 'object', properties: { pair } };
const tools = [
  { name: 'silent', description: 'silent', inputSchema: schema },
  { name: 'named', description: 'named', inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema } },
];
const answers = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'tuples', version: '1' } },
  'tools/list': { tools },
  'tools/call': { content: [{ type: 'text', text: 'called' }] },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method] ?? {} }));
});
JS
cat > try.mjs <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const folder = process.cwd();
const seen = new Map();
const model = createServer(async (request, response) => {
  let text = '';
  for await (const part of request) text += part;
  const { contents = [], tools = [] } = JSON.parse(text || '{}');
  const names = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name));
  const results = contents.flatMap(({ parts = [] }) => parts.flatMap(({ functionResponse }) => functionResponse ?? []));
  for (const { name, response: told } of results) seen.set(name, JSON.stringify(told));
  const wanted = names.filter((name) => /silent$|named$/.test(name));
  const parts = results.length > 0 || wanted.length === 0
    ? [{ text: 'done' }]
    : wanted.map((name) => ({ functionCall: { id: name, name, args: { pair: ['a', 1] } } }));
  const answer = {
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
  const isStream = request.url.includes(':streamGenerateContent');
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  response.end(isStream ? `data: ${JSON.stringify(answer)}\n\n` : JSON.stringify(answer));
}).listen(0, '127.0.0.1');
await once(model, 'listening');
mkdirSync('home/.gemini', { recursive: true });
mkdirSync('project');
writeFileSync('home/.gemini/settings.json', JSON.stringify({
  security: { auth: { selectedType: 'gemini-api-key' } },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  mcpServers: { tuples: { command: process.execPath, args: [`${folder}/server.mjs`], trust: true } },
}));
const env = {
  PATH: process.env.PATH, HOME: `${folder}/home`, GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_API_KEY: 'k',
  GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${model.address().port}`,
};
const args = ['-m', 'gemini-2.5-flash', '-p', 'call both'];
const stdio = ['ignore', 'ignore', 'inherit'];
const cli = spawn(`${folder}/node_modules/.bin/gemini`, args, { cwd: 'project', env, stdio });
await once(cli, 'exit');
model.close();
for (const tool of ['silent', 'named']) {
  const told = [...seen].find(([name]) => name.endsWith(tool))?.[1] ?? 'nobody called it';
  const problem = /params\/[^"\\]*false/.exec(told)?.[0];
  console.log(`${tool}: ${problem ? `refused, ${problem}` : /\\ncalled\\n/.test(told) ? 'called' : told}`);
}
JS
node try.mjs 2> errors | tee seen || { cat errors; exit 1; }
diff - seen <<'TXT'
silent: refused, params/pair/0 boolean schema is false
named: called
TXT
