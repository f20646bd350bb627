#!/usr/bin/env bash
# The Agent Client Protocol has a client name MCP servers in session/new, and says that every agent must take those on stdio. copilot 1.0.102
# answers such a request as if it had, and never starts the server, so that its model works without the tools and nobody is told. The same
# server on its command line is started. opencode 1.18.33 is shown beside it.
#
# Seen on Linux with Node 24:
#   copilot --acp, in session/new: answered; the server was started: no
#   copilot --acp --additional-mcp-config: answered; the server was started: yes
#   opencode acp, in session/new: answered; the server was started: yes
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @github/copilot@1.0.102 opencode-ai@1.18.33 > /dev/null
cat > server.mjs <<'JS'
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
writeFileSync(process.argv[2], '');
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const serverInfo = { name: 'small', version: '1.0.0' };
  const about = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'initialize' ? about : { tools: [] } }));
});
JS
cat > try.mjs <<'JS'
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
const here = process.cwd();
const env = {
  PATH: `${here}/node_modules/.bin:${process.env.PATH}`,
  HOME: here,
  COPILOT_PROVIDER_BASE_URL: 'http://127.0.0.1:9/v1',
  COPILOT_PROVIDER_API_KEY: 'k',
  COPILOT_MODEL: 'scripted',
  COPILOT_AUTO_UPDATE: 'false',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
};
const server = (file) => ({ command: process.execPath, args: [`${here}/server.mjs`, `${here}/${file}`] });
const config = JSON.stringify({ mcpServers: { small: { type: 'local', ...server('2'), tools: ['*'] } } });
const ways = [
  ['copilot --acp, in session/new', ['copilot', '--acp'], [{ name: 'small', ...server('1'), env: [] }]],
  ['copilot --acp --additional-mcp-config', ['copilot', '--acp', '--additional-mcp-config', config], []],
  ['opencode acp, in session/new', ['opencode', 'acp'], [{ name: 'small', ...server('3'), env: [] }]],
];
for (const [index, [way, [program, ...args], mcpServers]] of ways.entries()) {
  const agent = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  const answers = new Map();
  createInterface({ input: agent.stdout }).on('line', (line) => {
    const { id, method, result } = JSON.parse(line);
    if (method === undefined) answers.get(id)?.(result ? 'answered' : 'refused');
  });
  let last = 0;
  const ask = (method, params) => {
    const id = ++last;
    agent.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise((resolve) => answers.set(id, resolve));
  };
  const clientInfo = { name: 'try', version: '1.0.0' };
  await ask('initialize', { protocolVersion: 1, clientInfo, clientCapabilities: {} });
  const told = await ask('session/new', { cwd: here, mcpServers });
  const isStarted = () => existsSync(String(index + 1));
  for (let wait = 0; wait < 100 && !isStarted(); wait++) await new Promise((resolve) => setTimeout(resolve, 200));
  console.log(`${way}: ${told}; the server was started: ${isStarted() ? 'yes' : 'no'}`);
  process.kill(-agent.pid, 'SIGKILL');
}
JS
node try.mjs | tee seen
diff - seen <<'TXT'
copilot --acp, in session/new: answered; the server was started: no
copilot --acp --additional-mcp-config: answered; the server was started: yes
opencode acp, in session/new: answered; the server was started: yes
TXT
