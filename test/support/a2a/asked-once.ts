import type { RequestOutcome } from '@signalbox/client';
import { expect } from 'vitest';
import { eventsOf } from '../serve/serve-command.ts';
import type { ways } from './a2a-client.ts';
import { ask, startOutsideStage, tokenFile } from './outside-stage.ts';
import { startPeer } from './peer.ts';

/** Returns the answer to an ask, or what became of it. */
export const answerIn = (outcome: RequestOutcome): unknown =>
  outcome.status === 'completed' ? outcome.reply.json : outcome;

/** Shows that an agent that is reached in this way is asked once per message, with its token. */
export async function showThatMessagesAreAskedOnce(way: (typeof ways)[number]): Promise<void> {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder, { ...way, token: 'open-sesame' });
  const run = await stage.serve(peer.url, ['--a2a-token-file', await tokenFile(stage.folder, 'open-sesame')]);
  const [walt, wim] = [await stage.client('walt'), await stage.client('wim')];
  expect(answerIn(await ask(walt, 'hello', { id: 'same', thread: 'talk' }))).toBe('heard: hello');
  expect(answerIn(await ask(walt, 'more', { thread: 'talk' }))).toBe('heard: more');
  // Two senders may choose the same id.
  expect(answerIn(await ask(wim, 'hello', { id: 'same' }))).toBe('heard: hello');
  const [first, second, third] = await peer.runs();
  expect(await peer.texts()).toEqual(['hello', 'more', 'hello']);
  expect(second!.contextId).toBe(first!.contextId);
  expect(third!.contextId).not.toBe(first!.contextId);
  expect(first!.messageId).toMatch(/^same\./);
  expect(third!.messageId).not.toBe(first!.messageId);
  expect(eventsOf(run, 'turn_started')[1]).toMatchObject({ resumed: true });
}
