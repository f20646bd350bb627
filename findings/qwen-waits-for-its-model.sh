#!/usr/bin/env bash
# qwen-code 0.24.4 without a terminal (-p) does not fail when its model answers 429, as most agent CLIs do after some seconds: it says on
# standard error that it tries again in 60 s, ten times and with longer waits, and prints no result meanwhile. A caller that waits for a
# result or an exit code learns of a used-up quota half an hour later.
#
# Seen on Linux with Node 24:
#   the model refused with 429; qwen: Retrying in 60s (attempt 1/10); results: 0; exited: no
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @qwen-code/qwen-code@0.24.4 > /dev/null
cat > try.mjs <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const model = createServer((request, response) => {
  request.resume();
  response.writeHead(429, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message: 'quota', type: 'rate_limit', code: 429 } }));
}).listen(0, '127.0.0.1');
await once(model, 'listening');
mkdirSync('.qwen', { recursive: true });
writeFileSync('.qwen/settings.json', JSON.stringify({
  security: { auth: { selectedType: 'openai' } },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
}));
const env = {
  PATH: process.env.PATH, HOME: process.cwd(), OPENAI_API_KEY: 'k', OPENAI_MODEL: 'scripted',
  OPENAI_BASE_URL: `http://127.0.0.1:${model.address().port}/v1`,
};
const cli = spawn('node_modules/.bin/qwen', ['-p', 'hi', '--output-format=stream-json'], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
let told = '';
let exited = false;
const said = new Promise((resolve) => {
  for (const stream of [cli.stdout, cli.stderr]) stream.on('data', (part) => {
    told += part;
    if (told.includes('attempt 1/')) resolve();
  });
  cli.on('exit', () => { exited = true; resolve(); });
});
await said;
const wait = /Retrying in \d+s \(attempt 1\/\d+\)/.exec(told)?.[0] ?? 'nothing about a wait';
const results = told.split('\n').filter((line) => line.includes('"type":"result"')).length;
console.log(`the model refused with 429; qwen: ${wait}; results: ${results}; exited: ${exited ? 'yes' : 'no'}`);
if (!exited) process.kill(-cli.pid, 'SIGKILL');
model.close();
model.closeAllConnections();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
the model refused with 429; qwen: Retrying in 60s (attempt 1/10); results: 0; exited: no
TXT
