import { expect, test } from 'vitest';
import { ways } from '../support/a2a/a2a-client.ts';
import {
  answerIn,
  ask,
  refusedOptions,
  showThatMessagesAreAskedOnce,
  showThatOptionsAreRefused,
  startOutsideStage,
} from '../support/a2a/outside-stage.ts';
import { startPeer } from '../support/a2a/peer.ts';
import { eventsOf } from '../support/serve/serve-command.ts';

test.each(ways.slice(0, 1))(
  '$binding, version $version: an agent of another system is asked once per message, with its token.',
  showThatMessagesAreAskedOnce,
);

test('What an agent asks back is the reply, and belongs to the sender who got it.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder);
  let run = await stage.serve(peer.url);
  const [walt, wim] = [await stage.client('walt'), await stage.client('wim')];
  expect(answerIn(await ask(walt, 'ask me', { thread: 'talk' }))).toBe('Which city?');
  // A restart forgets no question.
  run.kill('SIGTERM');
  await run.ended;
  run = await stage.serve(peer.url);
  expect(answerIn(await ask(wim, 'Bergen', { thread: 'talk' }))).toBe('heard: Bergen');
  expect(answerIn(await ask(walt, 'Oslo', { thread: 'talk' }))).toBe('Oslo is sunny');
  expect(answerIn(await ask(walt, 'next', { thread: 'talk' }))).toBe('heard: next');
  const [asked, other, answered, next] = await peer.runs();
  expect(answered!.taskId).toBe(asked!.taskId);
  expect(other!.taskId).not.toBe(asked!.taskId);
  expect(next!.taskId).not.toBe(asked!.taskId);
  expect(new Set([asked, other, answered, next].map((one) => one!.contextId)).size).toBe(1);

  expect(answerIn(await ask(walt, 'ask again', { thread: 'other' }))).toBe('Which city?');
  await peer.kill();
  await peer.start();
  expect(answerIn(await ask(walt, 'Lima', { thread: 'other' }))).toBe('heard: Lima');
  expect(eventsOf(run, 'warning')).toMatchObject([{ code: 'session_lost' }]);
});

test('A withdrawn ask and the time limit cancel the task; a stop of serve leaves it to the next one.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder);
  let run = await stage.serve(peer.url, ['--stop-timeout', '1ms']);
  const walt = await stage.client('walt');
  const withdrawal = new AbortController();
  const withdrawn = ask(walt, 'wait for nothing', { signal: withdrawal.signal });
  await expect.poll(() => peer.texts()).toHaveLength(1);
  withdrawal.abort();
  expect((await withdrawn).status).toBe('cancelled');
  await expect.poll(() => peer.canceled()).toEqual([(await peer.runs())[0]!.taskId]);
  await expect.poll(() => eventsOf(run, 'turn_ended')).toMatchObject([{ outcome: 'withdrawn' }]);

  const waiting = ask(walt, 'wait for the next');
  await expect.poll(() => peer.texts()).toHaveLength(2);
  run.kill('SIGTERM');
  await run.ended;
  expect(eventsOf(run, 'turn_ended')[1]).toMatchObject({
    outcome: 'stopped',
    reason: expect.stringContaining('goes on there'),
  });
  run = await stage.serve(peer.url);
  await peer.release();
  expect(answerIn(await waiting)).toBe('heard: wait for the next');
  // The stop has cost no attempt, and the task was adopted.
  expect(eventsOf(run, 'turn_started')).toMatchObject([{ messages: [{ attempt: 1 }] }]);
  expect(await peer.texts()).toHaveLength(2);
  expect(await peer.canceled()).toHaveLength(1);
});

test.each(refusedOptions.slice(0, 1))(
  'worker serve %j is refused before anything connects.',
  showThatOptionsAreRefused,
);
