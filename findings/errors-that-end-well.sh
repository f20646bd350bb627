#!/usr/bin/env bash
# In the Agent Client Protocol the answer to session/prompt says how a turn ended. Three agents end one well (end_turn) whose model refused the
# request with 400, so that a client that takes a good end's text for the answer passes on an error, or less: codex-acp 2.6.0 and copilot
# 1.0.102 send the error as the agent's message, and pi-acp 0.0.34 with pi 1.6.0 sends nothing but the name and version of pi, which it sends
# at the beginning of each session.
#
# Seen on Linux with Node 24:
#   codex-acp: end_turn: {"error":{"type":"odd","message":"too odd"}}
#   copilot --acp: end_turn: Error: 400 too odd
#   pi-acp: end_turn: pi v1.6.0 ---
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @agentclientprotocol/codex-acp@2.6.0 @github/copilot@1.0.102 pi-acp@0.0.34 \
  @earendil-works/pi-coding-agent@1.6.0 > /dev/null
cat > try.mjs <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
const model = createServer((request, response) => {
  request.resume();
  const isList = request.url.endsWith('/models');
  response.writeHead(isList ? 200 : 400, { 'content-type': 'application/json' });
  response.end(isList ? '{"object":"list","data":[]}' : '{"error":{"type":"odd","message":"too odd"}}');
}).listen(0, '127.0.0.1');
await once(model, 'listening');
const url = `http://127.0.0.1:${model.address().port}`;
mkdirSync('home/.codex', { recursive: true });
mkdirSync('home/.pi/agent', { recursive: true });
writeFileSync('home/.codex/config.toml', `model = "gpt-5.5"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
`);
const provider = { baseUrl: `${url}/v1`, api: 'openai-completions', apiKey: 'k', models: [{ id: 'scripted' }] };
writeFileSync('home/.pi/agent/models.json', JSON.stringify({ providers: { local: provider } }));
const env = {
  PATH: `${process.cwd()}/node_modules/.bin:${process.env.PATH}`,
  HOME: `${process.cwd()}/home`,
  LOCAL_KEY: 'k',
  COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
  COPILOT_PROVIDER_API_KEY: 'k',
  COPILOT_MODEL: 'scripted',
  COPILOT_AUTO_UPDATE: 'false',
};
for (const command of ['codex-acp', 'copilot --acp', 'pi-acp']) {
  const [program, ...args] = command.split(' ');
  const agent = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  const answers = new Map();
  let text = '';
  createInterface({ input: agent.stdout }).on('line', (line) => {
    const { id, method, params, result, error } = JSON.parse(line);
    if (method === undefined) answers.get(id)?.(result ?? error);
    else if (params.update?.sessionUpdate === 'agent_message_chunk') text += params.update.content.text;
  });
  let last = 0;
  const ask = (method, params) => {
    const id = ++last;
    agent.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise((resolve) => answers.set(id, resolve));
  };
  const clientInfo = { name: 'try', version: '1.0.0' };
  await ask('initialize', { protocolVersion: 1, clientInfo, clientCapabilities: {} });
  const { sessionId } = await ask('session/new', { cwd: process.cwd(), mcpServers: [] });
  const { stopReason } = await ask('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'hi' }] });
  console.log(`${command}: ${stopReason}: ${text.replaceAll(url, 'URL').replace(/\s+/g, ' ').trim()}`);
  process.kill(-agent.pid, 'SIGKILL');
}
model.close();
model.closeAllConnections();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
codex-acp: end_turn: {"error":{"type":"odd","message":"too odd"}}
copilot --acp: end_turn: Error: 400 too odd
pi-acp: end_turn: pi v1.6.0 ---
TXT
