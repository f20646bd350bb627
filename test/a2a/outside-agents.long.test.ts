import { expect, test } from 'vitest';
import { ask, startOutsideStage } from '../support/a2a/outside-stage.ts';
import { startPeer } from '../support/a2a/peer.ts';
import { eventsOf } from '../support/serve/serve-command.ts';

/** The points at which `serve` dies, and how often the agent runs the message then: if it keeps its tasks, and if it forgets them. */
const points = [
  ['serve.task.noted', 1, 1],
  ['serve.task.sent', 1, 2],
  ['serve.task.known', 1, 2],
  ['serve.task.answered', 1, 1],
] as const;

test.each(
  points.flatMap(([point, kept, forgotten]) => [
    [point, 'which lives', true, false, kept] as const,
    [point, 'which dies, too, and keeps its tasks', true, true, kept] as const,
    [point, 'which dies, too, and forgets its tasks', false, true, forgotten] as const,
  ]),
)('kill -9 of serve at %s, beside an agent %s: one answer.', async (point, _, keeps, dies, runs) => {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder, { keeps });
  const dying = await stage.serve(peer.url, [], { SIGNALBOX_FAULT: point });
  const walt = await stage.client('walt');
  const asked = ask(walt, 'hello');
  expect(await dying.ended).toMatchObject({ signal: 'SIGKILL' });
  if (dies) {
    await peer.kill();
    await peer.start();
  }
  const run = await stage.serve(peer.url);
  expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'heard: hello' } });
  expect(await peer.texts()).toEqual(Array.from({ length: runs }, () => 'hello'));
  await expect.poll(() => eventsOf(run, 'turn_ended')).toMatchObject([{ outcome: 'answered' }]);
});

test.each([
  ['keeps its tasks', true, 1],
  ['forgets its tasks', false, 2],
])('kill -9 of an agent that %s, while its answer is waited for: one answer.', async (_, keeps, runs) => {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder, { keeps });
  const run = await stage.serve(peer.url);
  const asked = ask(await stage.client('walt'), 'wait for it');
  await expect.poll(() => peer.texts()).toHaveLength(1);
  await expect.poll(() => eventsOf(run, 'turn_started')).toHaveLength(1);
  await peer.kill();
  await peer.start();
  await peer.release();
  expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'heard: wait for it' } });
  expect(await peer.texts()).toHaveLength(runs);
  if (!keeps)
    expect(eventsOf(run, 'turn_ended')[0]).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('has forgotten the task'),
    });
});

test('Many asks, while serve and the agent are killed in turn: each is answered once.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder, { keeps: true });
  // A task that the agent's death has interrupted ends after its restart.
  await peer.release();
  let run = await stage.serve(peer.url);
  const walt = await stage.client('walt');
  const answers = new Map<string, unknown>();
  const asks = Array.from({ length: 24 }, async (_, n) => {
    const outcome = await ask(walt, `message ${n}`, { timeoutMs: 300_000 });
    answers.set(`message ${n}`, outcome.status === 'completed' ? outcome.reply.json : outcome);
  });
  for (const count of [4, 8, 12, 16]) {
    await expect.poll(() => answers.size, { timeout: 120_000 }).toBeGreaterThanOrEqual(count - 4);
    if (count % 8 === 0) {
      await peer.kill();
      await peer.start();
    } else {
      run.kill('SIGKILL');
      await run.ended;
      run = await stage.serve(peer.url);
    }
  }
  await Promise.all(asks);
  for (const [text, answer] of answers) expect(answer).toBe(`heard: ${text}`);
});
