import { execFileSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { replyIdOf } from '@signalbox/protocol';
import { connectWire } from '@signalbox/testing';
import { openThreadSessions, type ServeAgentOptions } from '@signalbox/worker/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRunning } from '../support/processes.ts';
import { type ServeStage, startServeStage } from '../support/serve/served-agent.ts';
import { ends, pidOf, waits } from '../support/serve/turns.ts';

let stage: ServeStage;
const wait = { timeoutMs: 20_000 };

beforeAll(async () => {
  stage = await startServeStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('An ask starts a turn with the text, the message and a token of its own, and the output is the reply; nothing is left.', async () => {
  await using rosa = await stage.serve(
    'echo "you said: $(cat)"; grep -c "\\"kind\\": \\"ask\\"" "$SIGNALBOX_MESSAGE_FILE"; cat "$SIGNALBOX_TOKEN_FILE"',
  );
  const outcome = await stage.walt.request('rosa', 'ask', 'hello', wait);
  expect(outcome).toMatchObject({ status: 'completed' });
  const [first, count, token] = String(outcome.status === 'completed' && outcome.reply.json).split('\n');
  expect([first, count]).toEqual(['you said: hello', '1']);
  expect(rosa.tokens.indexOf(token!)).toBe(1);
  const refused = connectBroker({ url: stage.broker.url, token: token!, agent: 'rosa' });
  await expect(refused).rejects.toMatchObject({ code: 'unauthorized' });
  expect(rosa.events.map(({ event }) => event)).toEqual(['serving', 'turn_started', 'turn_ended']);
  expect((await readdir(join(stage.directory, 'serve-1'))).sort()).toEqual(['program']);
  await expect.poll(() => stage.walt.peek({ address: 'walt' })).toEqual([]);
});

test('A served agent takes messages of a group, each in a turn of its own, and a note waits for no others.', async () => {
  const group = 'role:worker';
  const script = 'echo "$SIGNALBOX_TURN_GROUP: $(cat) in $SIGNALBOX_TURN_THREAD"';
  await using rosa = await stage.serve(script, { group, noteWaitMs: 600_000 });
  await expect.poll(() => rosa.events.length).toBe(1);
  await stage.walt.deliver({ to: group, kind: 'note', body: 'to whom it may concern' });
  const outcome = await stage.walt.request(group, 'ask', 'hello', { ...wait, thread: 'build-7' });
  expect(outcome).toMatchObject({
    reply: { json: 'role:worker: hello in build-7', from: { agent: 'rosa' } },
  });
  await expect.poll(() => ends(rosa.events)).toMatchObject([{ outcome: 'done' }, { outcome: 'answered' }]);
});

test('A program that never ends is ended with its whole group when its time is over.', async () => {
  const file = join(stage.directory, 'endless');
  const timers: { run: () => void; delayMs: number }[] = [];
  await using rosa = await stage.serve(`sleep 600 & echo $! > '${file}.pid'; trap '' TERM; wait; sleep 600`, {
    turnTimeoutMs: 1_800_000,
    graceMs: 200,
    startTimer: (run, delayMs) => {
      timers.push({ run, delayMs });
      return () => {};
    },
  });
  await stage.walt.deliver({ to: 'rosa', kind: 'task', id: 'endless', body: 'go' });
  const pid = await pidOf(file);
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([1_800_000]);
  timers[0]!.run();
  await expect
    .poll(() => ends(rosa.events)[0])
    .toMatchObject({
      ...{ outcome: 'timed_out', reason: 'it took longer than 1800 s and was ended' },
    });
  expect(isRunning(pid)).toBe(false);
  stage.walt.cancel('rosa', 'endless');
});

test('A program that ends leaves none of its group behind.', async () => {
  const file = join(stage.directory, 'left');
  await using _rosa = await stage.serve(`sleep 600 & echo $! > '${file}.pid'; echo done`);
  const outcome = await stage.walt.request('rosa', 'ask', 'go', wait);
  expect(outcome).toMatchObject({ status: 'completed', reply: { json: 'done' } });
  expect(isRunning(await pidOf(file))).toBe(false);
});

test('A request that its sender withdraws ends the process, and is not tried again.', async () => {
  const file = join(stage.directory, 'withdrawn');
  await using rosa = await stage.serve(waits(file));
  const giveUp = new AbortController();
  const asked = stage.walt.request('rosa', 'ask', 'never mind', { ...wait, signal: giveUp.signal });
  const pid = await pidOf(file);
  giveUp.abort();
  expect(await asked).toMatchObject({ status: 'cancelled' });
  await expect.poll(() => ends(rosa.events)).toMatchObject([{ outcome: 'withdrawn' }]);
  expect(isRunning(pid)).toBe(false);
});

test('A reply by tool stands: the final text is not sent, and the message is acked.', async () => {
  const file = join(stage.directory, 'by-tool');
  await using rosa = await stage.serve(waits(file));
  const asked = stage.walt.request('rosa', 'ask', 'how are you?', { ...wait, id: 'by-tool' });
  await pidOf(file);
  const token = (await readFile(`${file}.token`, 'utf8')).trim();
  const { url } = stage.broker;
  await using tool = await connectBroker({ url, token, agent: 'rosa' });
  await using looking = await connectBroker({
    url,
    token: await stage.broker.token('rosa'),
    agent: 'rosa#look',
  });
  const reply = { to: stage.walt.address, kind: 'reply', id: replyIdOf('by-tool'), correlationId: 'by-tool' };
  await tool.deliver({ ...reply, body: 'by tool' });
  expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'by tool' } });
  await writeFile(`${file}.go`, '');
  await expect.poll(() => ends(rosa.events)).toMatchObject([{ outcome: 'answered_by_tool' }]);
  await expect.poll(() => looking.peek({ address: 'rosa' })).toEqual([]);
});

test('A message that was answered before anybody acked it is acked without a second turn.', async () => {
  const { url } = stage.broker;
  await using before = await connectBroker({ url, token: await stage.broker.token('rosa'), agent: 'rosa' });
  const asked = stage.walt.request('rosa', 'ask', 'again?', { ...wait, id: 'again' });
  await expect.poll(() => before.peek()).toHaveLength(1);
  const reply = { to: stage.walt.address, kind: 'reply', id: replyIdOf('again'), correlationId: 'again' };
  await before.deliver({ ...reply, body: 'once' });
  expect(await asked).toMatchObject({ status: 'completed' });
  await using rosa = await stage.serve('echo twice');
  await expect
    .poll(() => rosa.events)
    .toContainEqual({
      ...{ event: 'already_answered', agent: 'rosa', id: 'again', from: 'walt' },
    });
  await expect.poll(() => before.peek()).toEqual([]);
  expect(rosa.events.map(({ event }) => event)).toEqual(['serving', 'already_answered']);
});

test('Notes wait for others and start one turn, to which nobody gets a reply.', async () => {
  const timers: { run: () => void; delayMs: number }[] = [];
  await using rosa = await stage.serve('cat', {
    startTimer: (run, delayMs) => {
      timers.push({ run, delayMs });
      return () => {};
    },
  });
  for (const body of ['one', 'two']) await stage.walt.deliver({ to: 'rosa', kind: 'note', body });
  await using looking = await connectBroker({
    ...{ url: stage.broker.url, token: await stage.broker.token('rosa'), agent: 'rosa#look' },
  });
  const waiting = async () => {
    const all = await looking.listConnected({ withStatus: true });
    return all.find(({ address }) => address === 'rosa')?.status;
  };
  await expect.poll(waiting).toMatchObject({ worker: 'serve', turns: 0, waiting: 2 });
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([60_000]);
  timers[0]!.run();
  await expect.poll(() => ends(rosa.events)).toMatchObject([{ outcome: 'done', output: 'one\n\ntwo' }]);
  await expect.poll(() => looking.peek({ address: 'rosa' })).toEqual([]);
  expect(await stage.walt.peek()).toEqual([]);
});

test('A stopped agent lets its turn end, and gives back what waits without an attempt.', async () => {
  const file = join(stage.directory, 'stopped');
  await using rosa = await stage.serve(waits(file));
  const asked = stage.walt.request('rosa', 'ask', 'first', wait);
  await pidOf(file);
  await stage.walt.deliver({ to: 'rosa', kind: 'task', id: 'second', body: 'second' });
  await using looking = await connectBroker({
    ...{ url: stage.broker.url, token: await stage.broker.token('rosa'), agent: 'rosa#look' },
  });
  // A waiting message is no work that has begun: its loss would not count as an attempt.
  const isWorking = async () =>
    (await looking.peek({ address: 'rosa' })).map(({ working }) => working === true);
  await expect.poll(isWorking).toEqual([true, false]);
  rosa.agent.stop();
  await writeFile(`${file}.go`, '');
  expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'done' } });
  await rosa.agent.ended;
  const [second, ...others] = await looking.peek({ address: 'rosa' });
  expect(others).toEqual([]);
  expect(second).toMatchObject({ id: 'second' });
  expect(second!.attempt).toBeUndefined();
  stage.walt.cancel('rosa', 'second');
});

test('A program that is ended and then exits with 0 has not answered: its message comes again.', async () => {
  const file = join(stage.directory, 'ended');
  const script = `trap 'echo half; exit 0' TERM; echo $$ > '${file}.pid'; while :; do sleep 0.02; done`;
  await using rosa = await stage.serve(script);
  await stage.walt.deliver({ to: 'rosa', kind: 'task', id: 'ended', body: 'go' });
  await pidOf(file);
  rosa.agent.kill();
  await rosa.agent.ended;
  expect(ends(rosa.events)).toMatchObject([
    { outcome: 'stopped', code: 0, output: expect.stringContaining('half') },
  ]);
  await using looking = await connectBroker({
    ...{ url: stage.broker.url, token: await stage.broker.token('rosa'), agent: 'rosa#look' },
  });
  expect(await looking.peek({ address: 'rosa' })).toMatchObject([{ id: 'ended' }]);
  stage.walt.cancel('rosa', 'ended');
});

test('A process that takes the inbox over ends the served agent with its turn, and it says so.', async () => {
  const file = join(stage.directory, 'taken');
  await using rosa = await stage.serve(waits(file));
  await stage.walt.deliver({ to: 'rosa', kind: 'task', id: 'taken', body: 'go' });
  const pid = await pidOf(file);
  await using other = await connectBroker({
    ...{ url: stage.broker.url, token: await stage.broker.token('rosa'), agent: 'rosa' },
  });
  await using _taken = await other.subscribe();
  await expect(rosa.agent.ended).rejects.toMatchObject({ code: 'taken_over' });
  expect(isRunning(pid)).toBe(false);
  stage.walt.cancel('rosa', 'taken');
});

test('A served agent waits for the end of a dead process that still holds its inbox, and leaves the inbox to a living one.', async () => {
  await using stage = await startServeStage({ heartbeatMs: 200 });
  const token = await stage.broker.token('rosa');
  await using dead = await connectWire(stage.broker.url, { agent: 'rosa', token });
  dead.send({ type: 'subscribe', request_id: 's' });
  await dead.next('subscribed');
  dead.socket.pause();
  await using rosa = await stage.serve('cat');
  expect(await stage.walt.request('rosa', 'ask', 'hello', wait)).toMatchObject({ status: 'completed' });
  expect(rosa.events.slice(0, 2)).toMatchObject([
    { event: 'warning', code: 'inbox_in_use', message: expect.stringContaining('waiting 2 s for its end') },
    { event: 'serving' },
  ]);
  await using second = await stage.serve('cat');
  await expect(second.agent.ended).rejects.toMatchObject({ code: 'inbox_in_use' });
  await using third = await stage.serve('cat');
  await expect.poll(() => third.events).toMatchObject([{ code: 'inbox_in_use' }]);
  third.agent.stop();
  await third.agent.ended;
});

test('The token with which an inbox is held is renewed when it has expired, and not when it was revoked before.', async () => {
  const { broker } = stage.broker;
  const ids: string[] = [];
  const issueToken: ServeAgentOptions['issueToken'] = async (agent) => {
    const { id, token } = await broker.issueToken({ agent, role: 'worker' });
    // The first one has expired, as far as it was told.
    const expiresAt = Date.now() + (ids.length === 0 ? 0 : 3_600_000);
    ids.push(id);
    return { text: token, expiresAt, retire: async () => ({ revoked: true, told: false, heldIds: [] }) };
  };
  await using operator = await connectBroker({
    ...{ url: stage.broker.url, token: await stage.broker.operatorToken(), agent: 'operator#r' },
  });
  await using rosa = await stage.serve('cat', { issueToken });
  await expect.poll(() => rosa.events).toHaveLength(1);
  await operator.admin('token_revoke', { id: ids[0]! });
  await expect.poll(() => ids.length).toBe(2);
  const outcome = await stage.walt.request('rosa', 'ask', 'still here', wait);
  expect(outcome).toMatchObject({ status: 'completed', reply: { json: 'still here' } });
  await operator.admin('token_revoke', { id: ids[1]! });
  await expect(rosa.agent.ended).rejects.toMatchObject({ code: 'unauthorized' });
});

test('An answer that the broker refuses makes its message a dead letter, and the sender is told.', async () => {
  await using small = await startServeStage({ limits: { message: { bytes: 1000 } } });
  await using rosa = await small.serve('head -c 2000 /dev/zero | tr "\\0" x');
  const outcome = await small.walt.request('rosa', 'ask', 'how much?', wait);
  expect(outcome.status).toBe('undeliverable');
  const warning = { code: 'answer_refused', message: expect.stringContaining('the body is over 1000 bytes') };
  await expect.poll(() => rosa.events.filter(({ event }) => event === 'warning')).toMatchObject([warning]);
});

test('A pipe in place of the file of sessions is not waited for.', async () => {
  const path = join(stage.directory, 'pipe.json');
  execFileSync('mkfifo', [path]);
  expect((await openThreadSessions(path)).get('any').session).toBeUndefined();
});
