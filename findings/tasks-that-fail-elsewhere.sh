#!/usr/bin/env bash
# An A2A task that fails, or is rejected, has no answer. Two agent frameworks that hand work to an agent of another system over A2A tell their
# own agent otherwise. Strands 1.19.0 takes every such task for an answer without text, which ended well: the reason is lost. Google's ADK
# 2.0.0 tells a failure as one if it has a reason, passes over one that has none, and takes the reason of a rejection for the answer.
#
# Seen on Linux with Node 24, with an agent made with the official @a2a-js/sdk 0.3.14, on 2026-11-30:
#   completed: strands "endTurn" "the answer", adk says "the answer"
#   failed, with a reason: strands "endTurn" "", adk error "no money"
#   failed, without a reason: strands "endTurn" "", adk nothing
#   rejected, with a reason: strands "endTurn" "", adk says "no money"
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @a2a-js/sdk@0.3.14 @google/adk@2.0.0 @strands-agents/sdk@1.19.0 express@5.3.0 \
  > /dev/null
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { InMemoryRunner } from '@google/adk';
import { RemoteA2AAgent } from '@google/adk/a2a';
import { A2AAgent } from '@strands-agents/sdk/a2a';
import express from 'express';
const app = express();
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}`;
const card = {
  name: 'other', description: '', version: '1.0.0', protocolVersion: '0.3.0', url: `${url}/rpc`, capabilities: { streaming: true },
  skills: [], defaultInputModes: [], defaultOutputModes: [],
};
const text = (text) => [{ kind: 'text', text }];
const agent = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const [state, reason] = userMessage.parts[0].text.split(', with ');
    const message = { kind: 'message', messageId: 'reason', role: 'agent', parts: text('no money'), taskId, contextId };
    bus.publish({ kind: 'task', id: taskId, contextId, status: { state: 'submitted' }, history: [userMessage] });
    if (state === 'completed') {
      const artifact = { artifactId: 'answer', parts: text('the answer') };
      bus.publish({ kind: 'artifact-update', taskId, contextId, artifact, append: false, lastChunk: true });
    }
    const status = { state: state.replace(/,.*/, ''), ...(reason && { message }) };
    bus.publish({ kind: 'status-update', taskId, contextId, status, final: true });
    bus.finished();
  },
  async cancelTask() {},
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));

const runner = new InMemoryRunner({ agent: new RemoteA2AAgent({ name: 'other', agentCard: url }), appName: 'try' });
async function adk(text) {
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'try', userId: 'me' });
  let told = 'nothing';
  for await (const event of runner.runAsync({ userId: 'me', sessionId, newMessage: { role: 'user', parts: [{ text }] } }))
    told = event.errorMessage
      ? `error ${JSON.stringify(event.errorMessage)}`
      : `says ${JSON.stringify(event.content?.parts?.map((part) => part.text).join(''))}`;
  return told;
}
for (const end of ['completed', 'failed, with a reason', 'failed, without a reason', 'rejected, with a reason']) {
  const { stopReason, lastMessage } = await new A2AAgent({ url }).invoke(end);
  const said = lastMessage.content.map((block) => block.text).join('');
  console.log(`${end}: strands "${stopReason}" "${said}", adk ${await adk(end)}`);
}
server.close();
server.closeAllConnections();
JS
node try.mjs 2> errors | grep -E '^(completed|failed|rejected)' | tee seen || { cat errors; exit 1; }
diff - seen <<'TXT'
completed: strands "endTurn" "the answer", adk says "the answer"
failed, with a reason: strands "endTurn" "", adk error "no money"
failed, without a reason: strands "endTurn" "", adk nothing
rejected, with a reason: strands "endTurn" "", adk says "no money"
TXT
