import { setTimeout as delay } from 'node:timers/promises';
import { agent, ndJsonStream } from '@agentclientprotocol/sdk';
import { expect, test } from 'vitest';
import type { TurnTalk } from '../program/turn-program.ts';
import { unknownAcpAgent } from './acp-agents.ts';
import { AcpTalker } from './acp-talk.ts';

/** A talk with an agent that ends the prompt `wait` well when it is told to cancel, and others at once. Returns what it hears. */
function talkWithAgent(): { talker: AcpTalker; heard: string[]; waits: Promise<void> } {
  const [toAgent, fromAgent] = [new TransformStream(), new TransformStream()];
  const heard: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  agent({ name: 'agent' })
    .onRequest('initialize', () => ({ protocolVersion: 1 }))
    .onRequest('session/new', () => ({ sessionId: 's1' }))
    .onRequest('session/prompt', async ({ client, params: { sessionId, prompt } }) => {
      const [block] = prompt;
      const text = block?.type === 'text' ? block.text : '';
      heard.push(text);
      const content = { type: 'text', text: 'half of it' } as const;
      const update = { sessionUpdate: 'agent_message_chunk', content } as const;
      await client.notify('session/update', { sessionId, update });
      if (text !== 'wait') return { stopReason: 'end_turn' };
      waiting.resolve();
      await cancelled.promise;
      return { stopReason: 'end_turn' };
    })
    .onNotification('session/cancel', () => {
      heard.push('cancel');
      cancelled.resolve();
    })
    .connect(ndJsonStream(fromAgent.writable, toAgent.readable));
  const place = { input: toAgent.writable, output: fromAgent.readable, cwd: '/', server: undefined };
  const options = { permissions: 'deny', mode: undefined, version: '1.0.0' } as const;
  const talker = new AcpTalker(place, { agent: unknownAcpAgent(['agent']), ...options });
  return { talker, heard, waits: waiting.promise };
}

const turn = (prompt: string, signal: AbortSignal): TurnTalk => ({
  ...{ prompt, isQuestion: true, session: undefined, toolsListed: undefined, signal },
  ...{ ask: async () => ({ isAllowed: false, reason: 'nobody', isDecided: true }) as const },
  ...{ noteAllowed: async () => {}, toolsUsed: () => {}, print: () => {}, warn: () => {} },
});

test('A cancelled turn has no answer, although its agent ends it well; an agent without a turn is not told to cancel.', async () => {
  const { talker, heard, waits } = talkWithAgent();
  const [early, late, never] = [new AbortController(), new AbortController(), new AbortController()];
  expect(await talker.take(turn('one', early.signal))).toMatchObject({ answer: { text: 'half of it' } });
  early.abort();
  // A cancel would leave meanwhile, and could end the next turn.
  await delay(0);
  await delay(0);
  const cancelled = talker.take(turn('wait', late.signal));
  await waits;
  late.abort();
  expect(await cancelled).toMatchObject({ failed: 'the turn was ended' });
  expect(await talker.take(turn('three', never.signal))).toHaveProperty('answer');
  expect(heard).toEqual(['one', 'wait', 'cancel', 'three']);
});
