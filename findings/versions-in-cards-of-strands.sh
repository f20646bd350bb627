#!/usr/bin/env bash
# The official client of A2A, @a2a-js/sdk 1.3.0, speaks 0.3 with agents whose cards name it, if it is told to (legacyCompat). An agent of
# Strands 1.19.0 speaks 0.3, but its card names 0.2.0, which the client takes for a newer version than it knows: it speaks 1.0, and the agent
# knows no such method. The same card with 0.3.0 works. The answer is a part for each piece that the model streamed, and an empty one.
#
# Seen on Linux with Node 24, with a model of the test's own, on 2026-11-30:
#   card 0.2.0: Method not found: SendMessage
#   card 0.3.0: "It rains", " in Oslo", ""
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir server client
cd client
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @a2a-js/sdk@1.3.0 > /dev/null
cat > ask.mjs <<'JS'
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
const [url] = process.argv.slice(2);
const legacyCompat = { enabled: true };
const cardResolver = new DefaultAgentCardResolver({ legacyCompat });
const card = await cardResolver.resolve(url);
for (const protocolVersion of [card.supportedInterfaces[0].protocolVersion, '0.3.0']) {
  const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ legacyCompat })], cardResolver });
  const supportedInterfaces = card.supportedInterfaces.map((one) => ({ ...one, protocolVersion }));
  const client = await factory.createFromAgentCard({ ...card, supportedInterfaces });
  const part = { content: { $case: 'text', value: 'hi' }, filename: '', mediaType: 'text/plain' };
  const message = { messageId: 'one', contextId: '', taskId: '', role: 1, parts: [part], extensions: [], referenceTaskIds: [] };
  const told = await client.sendMessage({ tenant: '', message }).then(
    (task) => task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => JSON.stringify(content.value))).join(', '),
    (error) => error.message,
  );
  console.log(`card ${protocolVersion}: ${told}`);
}
JS
cd ../server
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @strands-agents/sdk@1.19.0 @a2a-js/sdk@0.3.14 express@5.3.0 > /dev/null
cat > try.mjs <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Agent, Model } from '@strands-agents/sdk';
import { A2AExpressServer } from '@strands-agents/sdk/a2a/express';
class Scripted extends Model {
  updateConfig() {}
  getConfig() {
    return { modelId: 'scripted' };
  }
  async *stream() {
    yield { type: 'modelMessageStartEvent', role: 'assistant' };
    yield { type: 'modelContentBlockStartEvent' };
    for (const text of ['It rains', ' in Oslo']) yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text } };
    yield { type: 'modelContentBlockStopEvent' };
    yield { type: 'modelMessageStopEvent', stopReason: 'endTurn' };
  }
}
const free = createServer().listen(0, '127.0.0.1');
await once(free, 'listening');
const { port } = free.address();
free.close();
await once(free, 'close');
const stopping = new AbortController();
const agentFactory = () => new Agent({ model: new Scripted(), printer: false });
const server = new A2AExpressServer({ agentFactory, name: 'weather', host: '127.0.0.1', port });
const served = server.serve({ signal: stopping.signal });
for (;;) if (await fetch(`http://127.0.0.1:${port}/.well-known/agent-card.json`).then((answer) => answer.ok, () => false)) break;
const client = spawn(process.execPath, ['../client/ask.mjs', `http://127.0.0.1:${port}`], { stdio: 'inherit' });
await once(client, 'close');
stopping.abort();
await served;
process.exit();
JS
node try.mjs 2> /dev/null | grep '^card' | tee seen
diff - seen <<'TXT'
card 0.2.0: Method not found: SendMessage
card 0.3.0: "It rains", " in Oslo", ""
TXT
