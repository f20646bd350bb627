#!/usr/bin/env bash
# qwen-code 0.24.4 comes from gemini-cli 0.61.0, and both read mcpServers of a settings.json of one form; the same entry means two things.
# An address without a type is Streamable HTTP to gemini, and the older SSE to qwen, which fails on today's servers; and of ${NAME:-default}
# gemini gives the server the default, qwen the text itself.
#
# Seen on Linux with Node 24: first request for {"url": …}, and the argument of {"command": …, "args": ["${PLACE:-Oslo}"]}:
#   gemini: POST, Oslo
#   qwen: GET, ${PLACE:-Oslo}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @google/gemini-cli@0.61.0 @qwen-code/qwen-code@0.24.4 > /dev/null
cat > try.mjs <<'JS'
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
const methods = [];
const server = createServer((request, response) => {
  methods.push(request.method);
  request.resume();
  response.writeHead(405).end();
}).listen(0, '127.0.0.1');
await once(server, 'listening');
for (const name of ['gemini', 'qwen']) {
  const home = `${process.cwd()}/${name}`;
  const told = `${home}/told`;
  mkdirSync(`${home}/.${name}`, { recursive: true });
  const tell = `require('node:fs').writeFileSync(${JSON.stringify(told)}, process.argv[1])`;
  writeFileSync(`${home}/.${name}/settings.json`, JSON.stringify({
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    mcpServers: {
      remote: { url: `http://127.0.0.1:${server.address().port}/mcp` },
      local: { command: process.execPath, args: ['-e', tell, '${PLACE:-Oslo}'] },
    },
  }));
  mkdirSync(`${home}/project`);
  const env = { PATH: process.env.PATH, HOME: home, GEMINI_CLI_TRUST_WORKSPACE: 'true' };
  methods.length = 0;
  await promisify(execFile)(`node_modules/.bin/${name}`, ['mcp', 'list'], { env });
  console.log(`${name}: ${methods[0]}, ${readFileSync(told, 'utf8')}`);
}
server.close();
server.closeAllConnections();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
gemini: POST, Oslo
qwen: GET, ${PLACE:-Oslo}
TXT
