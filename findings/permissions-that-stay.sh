#!/usr/bin/env bash
# In the Agent Client Protocol an agent asks its client before it uses a tool, and says which answers hold for how long; their order means
# nothing. @mcpc-tech/acp-ai-provider 0.2.9, with which agents are models of the AI SDK, takes the first by default. qwen-code 0.24.4 begins
# with the one that holds for ever in this project: one command that was asked for leaves a rule in the project's settings.
#
# Seen on Linux with Node 24, with a local imitation of the model's API, which asks for one command (touch made), on 2026-11-30:
#   asked: allow_always, allow_always, allow_once, reject_once
#   answered: done, and made the file
#   .qwen/settings.json: {"permissions":{"allow":["Bash(touch *)"]}}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'sleep 1; rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @mcpc-tech/acp-ai-provider@0.2.9 @qwen-code/qwen-code@0.24.4 ai@7.0.173 > /dev/null
cat > tee.mjs <<'JS'
import { spawn } from 'node:child_process';
import { createWriteStream, writeFileSync } from 'node:fs';
const agent = spawn('qwen', ['--acp', '--approval-mode', 'default'], { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
writeFileSync(`${process.env.WIRE}.pid`, `${agent.pid}`);
process.stdin.pipe(agent.stdin);
agent.stdout.pipe(createWriteStream(process.env.WIRE));
agent.stdout.pipe(process.stdout);
agent.on('close', () => process.exit());
JS
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createACPProvider } from '@mcpc-tech/acp-ai-provider';
import { generateText } from 'ai';
const here = process.cwd();
const args = JSON.stringify({ command: 'touch made', description: 'makes a file', is_background: false });
const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'run_shell_command', arguments: args } };
const model = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const { tools = [], messages = [] } = JSON.parse(body);
  const calls = tools.length > 0 && !messages.some(({ role }) => role === 'tool');
  const part = (delta, finish_reason) => {
    const choices = [{ index: 0, delta, finish_reason }];
    return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices })}\n\n`;
  };
  const said = calls ? part({ tool_calls: [call] }, null) + part({}, 'tool_calls') : part({ content: 'done' }, null) + part({}, 'stop');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${said}data: [DONE]\n\n`);
}).listen(0, '127.0.0.1');
await once(model, 'listening');
for (const folder of ['project', 'home/.qwen']) mkdirSync(folder, { recursive: true });
const own = { security: { auth: { selectedType: 'openai' } }, general: { enableAutoUpdate: false }, privacy: { usageStatisticsEnabled: false } };
writeFileSync('home/.qwen/settings.json', JSON.stringify(own));
const provider = createACPProvider({
  command: process.execPath,
  args: [`${here}/tee.mjs`],
  env: {
    PATH: `${here}/node_modules/.bin:${process.env.PATH}`,
    HOME: `${here}/home`,
    WIRE: `${here}/wire`,
    OPENAI_BASE_URL: `http://127.0.0.1:${model.address().port}/v1`,
    OPENAI_API_KEY: 'k',
    OPENAI_MODEL: 'scripted',
  },
  session: { cwd: `${here}/project`, mcpServers: [] },
});
const { text } = await generateText({ model: provider.languageModel(), prompt: 'Make it.', tools: provider.tools });
const wire = readFileSync('wire', 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const asked = wire.find(({ method }) => method === 'session/request_permission');
console.log(`asked: ${asked.params.options.map(({ kind }) => kind).join(', ')}`);
console.log(`answered: ${text}, and ${existsSync('project/made') ? 'made the file' : 'made nothing'}`);
const rules = existsSync('project/.qwen/settings.json') && JSON.parse(readFileSync('project/.qwen/settings.json', 'utf8'));
console.log(`.qwen/settings.json: ${JSON.stringify(rules)}`);
process.kill(-Number(readFileSync('wire.pid', 'utf8')), 'SIGKILL');
process.exit();
JS
node try.mjs 2> errors | grep -E '^(asked|answered|\.qwen)' | tee seen || { cat errors; exit 1; }
diff - seen <<'TXT'
asked: allow_always, allow_always, allow_once, reject_once
answered: done, and made the file
.qwen/settings.json: {"permissions":{"allow":["Bash(touch *)"]}}
TXT
