import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ways } from '../support/a2a/a2a-client.ts';
import {
  answerIn,
  ask,
  refusedOptions,
  showThatMessagesAreAskedOnce,
  showThatOptionsAreRefused,
  startOutsideStage,
  tokenFile,
} from '../support/a2a/outside-stage.ts';
import { startPeer } from '../support/a2a/peer.ts';
import { eventsOf } from '../support/serve/serve-command.ts';

/** Returns what `serve` has noted of its tasks. */
async function notesIn(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((one) => one.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  // A note is replaced as a whole, and removed when its task is over.
  return (await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')))).join();
}

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
  if (keeps) await expect.poll(() => peer.kept()).toHaveLength(1);
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

test.each(ways.slice(1))(
  '$binding, version $version: an agent of another system is asked once per message, with its token.',
  showThatMessagesAreAskedOnce,
);

test('An ask that is withdrawn while nobody serves the agent is canceled at the next start.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder);
  const run = await stage.serve(peer.url, ['--stop-timeout', '1ms']);
  const walt = await stage.client('walt');
  const withdrawal = new AbortController();
  const withdrawn = ask(walt, 'wait for nothing', { signal: withdrawal.signal });
  const wanted = ask(walt, 'wait');
  await expect.poll(() => peer.texts()).toHaveLength(2);
  run.kill('SIGTERM');
  await run.ended;
  withdrawal.abort();
  expect((await withdrawn).status).toBe('cancelled');
  await stage.serve(peer.url);
  const { taskId } = (await peer.runs()).find(({ text }) => text === 'wait for nothing')!;
  await expect.poll(() => peer.canceled()).toEqual([taskId]);
  await peer.release();
  expect(answerIn(await wanted)).toBe('heard: wait');
  expect(await peer.texts()).toHaveLength(2);
});

test('A task that takes too long is canceled, and its message comes again.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder);
  const run = await stage.serve(peer.url, ['--turn-timeout', '500ms']);
  const walt = await stage.client('walt');
  const slow = ask(walt, 'wait');
  await expect.poll(() => peer.canceled()).toHaveLength(2);
  await peer.release();
  expect(answerIn(await slow)).toBe('heard: wait');
  expect(eventsOf(run, 'turn_ended')[0]).toMatchObject({ outcome: 'timed_out' });
});

test('A task that ends while it is canceled is answered.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder);
  const run = await stage.serve(peer.url, ['--turn-timeout', '500ms']);
  const deaf = ask(await stage.client('walt'), 'deaf');
  await expect.poll(() => peer.canceled()).toHaveLength(1);
  await peer.release();
  expect(answerIn(await deaf)).toBe('heard: deaf');
  expect(await peer.texts()).toEqual(['deaf']);
  expect(eventsOf(run, 'turn_ended')).toMatchObject([{ outcome: 'answered' }]);
});

test('Ends without an answer, large answers and parts that are no text are told as they are.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder);
  await stage.serve(peer.url);
  const walt = await stage.client('walt');
  for (const [body, reason] of [
    ['fail now', 'is failed: the model is out of reach'],
    ['reject this', 'is rejected: not my business'],
  ] as const)
    expect(await ask(walt, body)).toMatchObject({
      status: 'undeliverable',
      detail: expect.stringContaining(reason),
    });
  expect(await ask(walt, 'x'.repeat(150_000))).toMatchObject({
    status: 'undeliverable',
    detail: expect.stringContaining('HTTP 413'),
  });
  expect(answerIn(await ask(walt, 'link'))).toBe(
    'heard: link\n{"url":"http://127.0.0.1:9/secret","mediaType":"text/plain"}',
  );
  expect(answerIn(await ask(walt, { city: 'Oslo' }))).toBe('heard: {"city":"Oslo"}');
  expect(answerIn(await ask(walt, 'long'))).toMatch(/^\[137856 bytes before this were cut off\]\ny+$/);
  expect(await peer.texts()).toHaveLength(5);
});

test.each(['0.2.0', '0.3.1'])(
  'An agent whose card names %s is asked in 0.3, and its answer in pieces is one text.',
  async (named) => {
    await using stage = await startOutsideStage();
    await using peer = await startPeer(stage.folder, { version: '0.3', named });
    await stage.serve(peer.url);
    expect(answerIn(await ask(await stage.client('walt'), 'pieces'))).toBe('It rains 12.5 mm');
  },
);

test.each(refusedOptions.slice(1))(
  'worker serve %j is refused before anything connects.',
  showThatOptionsAreRefused,
);

test('Messages wait while the agent is away or refuses the token, and the reason is told.', async () => {
  await using stage = await startOutsideStage();
  await using peer = await startPeer(stage.folder, { token: 'right' });
  await peer.kill();
  const file = await tokenFile(stage.folder, 'wrong');
  const run = await stage.serve(peer.url, ['--a2a-token-file', file]);
  const { host } = new URL(peer.url);
  expect(eventsOf(run, 'warning')).toMatchObject([
    { code: 'peer_away', message: expect.stringContaining(`${host} cannot be reached (ECONNREFUSED)`) },
  ]);
  const walt = await stage.client('walt');
  const waiting = ask(walt, 'hello');
  await expect.poll(() => eventsOf(run, 'program_failing')).toHaveLength(1);
  await peer.start();
  await expect.poll(() => eventsOf(run, 'turn_ended').at(-1)?.reason).toBe(`${host} answered HTTP 401`);
  // As token issue writes it, with the address of its broker.
  await tokenFile(stage.folder, 'right\nws://127.0.0.1:7420');
  expect(answerIn(await waiting)).toBe('heard: hello');
  expect(eventsOf(run, 'program_works')).toHaveLength(1);
  expect(eventsOf(run, 'turn_started').at(-1)).toMatchObject({ messages: [{ attempt: 1 }] });
});

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
  const { taskId } = (await peer.runs())[1]!;
  await expect.poll(() => notesIn(join(stage.folder, 'state'))).toContain(taskId);
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
