#!/usr/bin/env bash
# An A2A agent that throws has failed, and its task says so. In the official @a2a-js/sdk 0.3.14, on which Strands 1.19.0 builds, that is another
# task: a failed one with an id of its own. The task that the agent began, whose id the caller has, works for ever; a stream tells of both. So
# callers that do not wait for the answer, as agents that take long need, never see the failure. In 1.3.0 the task itself fails.
#
# Seen on Linux with Node 24, with an agent that publishes its task and then throws, on 2026-11-30:
#   who waits: failed, the task that began: working
#   who asks later: working
#   who reads the stream: working, failed, of 2 tasks
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @a2a-js/sdk@0.3.14 > /dev/null
cat > try.mjs <<'JS'
import { setTimeout as delay } from 'node:timers/promises';
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
console.error = () => {};
console.warn = () => {};
const card = {
  name: 'broken', description: '', version: '1.0.0', protocolVersion: '0.3.0', url: 'http://127.0.0.1', capabilities: { streaming: true },
  skills: [], defaultInputModes: [], defaultOutputModes: [],
};
const begun = [];
const agent = {
  async execute({ taskId, contextId, userMessage }, bus) {
    begun.push(taskId);
    bus.publish({ kind: 'task', id: taskId, contextId, status: { state: 'working' }, history: [userMessage] });
    await delay(100);
    throw new Error('the model is away');
  },
  async cancelTask() {},
};
const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
const message = (messageId) => ({ kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text: 'hi' }] });
const state = async (id) => (await handler.getTask({ id })).status.state;

const answer = await handler.sendMessage({ message: message('one'), configuration: { blocking: true } });
console.log(`who waits: ${answer.status.state}, the task that began: ${await state(begun[0])}`);

const { id } = await handler.sendMessage({ message: message('two'), configuration: { blocking: false } });
await delay(1000);
console.log(`who asks later: ${await state(id)}`);

const [states, ids] = [[], new Set()];
for await (const event of handler.sendMessageStream({ message: message('three') })) {
  states.push(event.status.state);
  ids.add(event.kind === 'task' ? event.id : event.taskId);
}
console.log(`who reads the stream: ${states.join(', ')}, of ${ids.size} tasks`);
JS
node try.mjs | tee seen
diff - seen <<'TXT'
who waits: failed, the task that began: working
who asks later: working
who reads the stream: working, failed, of 2 tasks
TXT
