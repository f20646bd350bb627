import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectMailbox, startMailboxStack } from '../support/worker/mailbox-client.ts';

const bodiesOf = ({ data }: { data: { messages: { body: unknown }[] } }) =>
  data.messages.map(({ body }) => body);

test('an answer that takes too long for one call is pending, and fetched when it is there', async () => {
  await using mail = await startMailboxStack();
  const rosa = await mail.mailbox('rosa', 'worker', { askWaitMs: 100 });
  const walt = await mail.mailbox('walt');
  const pending = await rosa.use('ask_agent', { to: 'walt', text: 'slow?' });
  const { ask_id } = pending.data;
  expect(pending).toMatchObject({
    isError: false,
    data: { status: 'pending' },
    text: expect.stringContaining(ask_id),
  });
  expect((await rosa.use('ask_result', { ask_id, timeout_s: 0 })).data.status).toBe('pending');
  const unknown = await rosa.use('ask_result', { ask_id: 'nothing' });
  expect(unknown).toMatchObject({
    isError: true,
    text: expect.stringContaining(`pending are: ${ask_id} (to walt)`),
  });
  const [ask] = (await walt.use('inbox_wait')).data.messages;
  await walt.use('reply', { message_id: ask.id, text: 'at last' });
  await expect
    .poll(async () => (await rosa.use('ask_result', { ask_id })).data)
    .toMatchObject({ status: 'answered', from: 'walt', body: 'at last' });
  // It is still there when it is asked for again.
  expect((await rosa.use('ask_result', { ask_id })).data.body).toBe('at last');

  const short = await rosa.use('ask_agent', { to: 'walt', text: 'gone by then', timeout_s: 1 });
  await expect
    .poll(async () => (await rosa.use('ask_result', { ask_id: short.data.ask_id })).meta['signalbox/error'])
    .toMatchObject({ code: 'timed_out', may_have_run: true });
});

test('who waits for an answer or a message gets signs of life, and the progress of the one that was asked', async () => {
  await using mail = await startMailboxStack();
  const rosa = await mail.mailbox('rosa', 'worker', { heartbeatMs: 30 });
  const walt = await mail.clientAt('walt');
  await walt.serve(['ask'], async (request) => {
    request.progress({ progress: 1, total: 2, message: 'half way' });
    await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
    return undefined;
  });
  const messages: string[] = [];
  const onprogress = ({ message = '' }) => messages.push(message);
  const abort = new AbortController();
  const { signal } = abort;
  const asking = rosa.use('ask_agent', { to: 'walt', text: 'x' }, { onprogress, signal });
  await expect.poll(() => messages).toContain('half way');
  await expect
    .poll(() => messages.filter((one) => one.startsWith('still running')).length)
    .toBeGreaterThan(1);
  abort.abort();
  await expect(asking).rejects.toThrow();
  messages.length = 0;
  const waiting = rosa.use('inbox_wait', {}, { onprogress });
  await expect
    .poll(() => messages.filter((one) => one.startsWith('still running')).length)
    .toBeGreaterThan(1);
  await walt.deliver({ to: 'rosa', kind: 'note', body: 'here' });
  expect(bodiesOf(await waiting)).toEqual(['here']);
});

test('a cancelled call takes its question out of the inbox it waits in', async () => {
  await using mail = await startMailboxStack();
  const rosa = await mail.mailbox('rosa');
  const nemo = await mail.clientAt('nemo#look');
  const abort = new AbortController();
  const asking = rosa.use('ask_agent', { to: 'nemo', text: 'x' }, { signal: abort.signal });
  await expect.poll(() => nemo.peek({ address: 'nemo' })).toHaveLength(1);
  abort.abort();
  await expect(asking).rejects.toThrow();
  await expect.poll(() => nemo.peek({ address: 'nemo' })).toHaveLength(0);

  // When a face has ended, nobody is left to answer.
  await using quiet = await mail.mailbox('quiet', 'worker', { askWaitMs: 1 });
  const pending = await quiet.use('ask_agent', { to: 'nemo', text: 'y' });
  expect(pending.data).toMatchObject({
    status: 'pending',
    why: expect.stringContaining('reads no messages now'),
  });
  expect(pending.text).toContain('nemo is connected, and reads no messages now. Do not ask again;');
  await expect.poll(() => nemo.peek({ address: 'nemo' })).toHaveLength(1);
  await quiet.face.close();
  await expect.poll(() => nemo.peek({ address: 'nemo' })).toHaveLength(0);
});

test('an inbox that another process reads is taken over with take_over only, however often it is read, is lost with a word, and taken back', async () => {
  await using mail = await startMailboxStack();
  const rosa = await mail.clientAt('rosa#send');
  const first = await mail.mailbox('walt');
  await rosa.deliver({ to: 'walt', kind: 'note', body: 'one' });
  expect(bodiesOf(await first.use('inbox_read'))).toEqual(['one']);
  const waiting = first.use('inbox_wait');
  await first.use('list_agents');

  const second = await mail.mailbox('walt');
  const refused = await second.use('inbox_read');
  expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('inbox_in_use') });
  expect(refused.text).toContain('another process reads the inbox of walt');
  expect(refused.text).toContain('Read with take_over: true only if you are to take the inbox over');
  expect((await second.use('inbox_wait')).text).toBe(refused.text);
  expect(await second.use('inbox_read', { group: 'role:worker', take_over: true })).toMatchObject({
    isError: true,
    text: expect.stringContaining("'take_over' is for your own inbox"),
  });
  const again = await second.use('inbox_read', { take_over: true });
  expect(again.data.messages).toMatchObject([{ body: 'one', attempt: 2 }]);
  expect(await waiting).toMatchObject({ isError: true, text: expect.stringContaining('taken_over') });
  expect(await first.use('inbox_read')).toMatchObject({ isError: true });
  const back = await first.use('inbox_read', { take_over: true });
  expect(back.data.messages).toMatchObject([{ body: 'one', attempt: 3, shown_before: true }]);
  expect((await first.use('inbox_read', { ack: back.data.cursor })).data).toMatchObject({
    acked: 1,
    messages: [],
  });
  expect(bodiesOf(await second.use('inbox_wait', { take_over: true, timeout_s: 0 }))).toEqual([]);
});

test('what a face handed out and nobody acked comes again after its end, as a further attempt', async () => {
  let ahead = 0;
  await using mail = await startMailboxStack({ now: () => Date.now() + ahead });
  const rosa = await mail.clientAt('rosa#send');
  const walts = await mail.clientAt('walt#look');
  const first = await mail.mailbox('walt');
  for (const body of ['read', 'acked']) await rosa.deliver({ to: 'walt', kind: 'note', body });
  await first.use('inbox_read', { limit: 2 });
  await first.face.close();
  // Its consumer has ten seconds to come back before the loss counts.
  ahead = 11_000;
  await expect
    .poll(async () => (await walts.peek({ address: 'walt' })).map(({ attempt }) => attempt))
    .toEqual([2, 2]);
  const second = await mail.mailbox('walt');
  const { data } = await second.use('inbox_read');
  expect(data.messages).toMatchObject([
    { body: 'read', attempt: 2, shown_before: true },
    { body: 'acked', attempt: 2, shown_before: true },
  ]);
  expect(data.messages[0].shown_seconds_ago).toBeGreaterThanOrEqual(11);
});

test('what a face had read and not acked was tried once when it ends and another one of the same token reads at once', async () => {
  await using mail = await startMailboxStack();
  const rosa = await mail.clientAt('rosa#send');
  const first = await mail.mailbox('walt');
  await rosa.deliver({ to: 'walt', kind: 'note', body: 'read' });
  await first.use('inbox_read');
  await first.face.close();
  await rosa.deliver({ to: 'walt', kind: 'note', body: 'new' });
  const second = await mail.mailbox('walt');
  const { data, text } = await second.use('inbox_read');
  expect(data.messages).toMatchObject([
    { body: 'read', attempt: 2, shown_before: true, shown_seconds_ago: expect.any(Number) },
    { body: 'new', attempt: 1 },
  ]);
  expect(data.messages[1]).not.toHaveProperty('shown_before');
  expect(text).toContain('the process that had it may have begun the work');
});

test('a broker that restarts under questions, waits and unacked messages costs none of them', async () => {
  await using mail = await startMailboxStack();
  const rosa = await mail.mailbox('rosa');
  const walt = await mail.mailbox('walt');
  await rosa.use('send_message', { to: 'walt', text: 'kept' });
  const kept = await walt.use('inbox_read');
  const asking = rosa.use('ask_agent', { to: 'walt', text: 'still there?' });
  const [ask] = (await walt.use('inbox_wait')).data.messages;
  const waiting = walt.use('inbox_wait');
  await mail.broker.restart();
  expect((await walt.use('reply', { message_id: ask.id, text: 'yes' })).isError).toBe(false);
  expect((await asking).data).toMatchObject({ status: 'answered', body: 'yes' });
  expect((await rosa.use('send_message', { to: 'walt', text: 'after' })).isError).toBe(false);
  expect(bodiesOf(await waiting)).toEqual(['after']);
  const again = await walt.use('inbox_read');
  expect(again.data.messages).toMatchObject([
    { body: 'kept', shown_before: true, attempt: 1 },
    { body: 'after', shown_before: true },
  ]);
  expect((await walt.use('inbox_read', { ack: kept.data.cursor })).data).toMatchObject({ acked: 1 });
  expect(bodiesOf(await walt.use('inbox_read'))).toEqual(['after']);
});

test('a role sees only the mailbox tools that its policy leaves it, also when that changes under it', async () => {
  await using mail = await startMailboxStack();
  mail.orchestrator.setPolicy({
    mailbox: { mute: { tools: false }, reader: { tools: ['signalbox_inbox_read'] } },
  });
  const mute = await mail.mailbox('mute', 'mute');
  const rita = await mail.mailbox('rita', 'reader');
  const rosa = await mail.mailbox('rosa');
  const names = async (mailbox: typeof mute) => (await mailbox.list()).map(({ name }) => name);
  expect(await names(mute)).toEqual([]);
  expect(mute.client.getInstructions()).not.toContain('signalbox_');
  expect(await names(rita)).toEqual(['signalbox_inbox_read']);
  expect(await names(rosa)).toHaveLength(8);
  await expect(mute.use('inbox_read')).rejects.toMatchObject({ code: -32602 });
  await expect(rita.use('send_message', { to: 'rosa', text: 'x' })).rejects.toMatchObject({ code: -32602 });
  expect((await rita.use('inbox_read')).isError).toBe(false);

  const told = new Promise<void>((resolve) =>
    mute.client.setNotificationHandler('notifications/tools/list_changed', () => resolve()),
  );
  mail.orchestrator.setPolicy({ mailbox: { reader: { tools: ['signalbox_inbox_read'] } } });
  await told;
  expect(await names(mute)).toHaveLength(8);
  expect((await mute.use('send_message', { to: 'rosa', text: 'x' })).isError).toBe(false);
  expect(await names(rita)).toEqual(['signalbox_inbox_read']);
});

test('a call that was given up, and one whose end is in doubt, can be looked up', async () => {
  await using stack = await startToolStack();
  await using mailbox = await connectMailbox(await stack.executor('w1'), { askWaitMs: 5_000 });
  expect(await mailbox.use('call_result')).toMatchObject({ data: { calls: [] } });
  const opener = `${stack.directory}/open`;
  const call = mailbox.use('mcp_counter__gate', { file: opener });
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  const { data } = await mailbox.use('call_result');
  expect(data.calls).toMatchObject([{ tool: 'mcp_counter__gate', state: 'running' }]);
  const { call_id } = data.calls[0];
  const looking = mailbox.use('call_result', { call_id });
  await writeFile(opener, '');
  expect((await looking).data).toEqual({ highWater: 1 });
  await call;
  // The orchestrator knows that nobody waits any more.
  expect((await mailbox.use('call_result', { call_id })).data).toEqual({ highWater: 1 });
  await using other = await connectMailbox(await stack.executor('w1'));
  expect((await other.use('call_result', { call_id })).data).toEqual({ highWater: 1 });
  await using stranger = await connectMailbox(await stack.executor('w2'));
  expect((await stranger.use('call_result', { call_id })).text).toContain('unknown_call');

  const failed = await mailbox.use('mcp_counter__crash');
  expect(failed).toMatchObject({ isError: true });
  const lost = failed.meta['signalbox/call_id'];
  const found = await mailbox.use('call_result', { call_id: lost });
  expect(found.meta).toEqual(failed.meta);
  expect(found.text).toBe(failed.text);
  const { calls } = (await other.use('call_result')).data;
  expect(calls).toMatchObject([
    { call_id: lost, outcome: (failed.meta['signalbox/error'] as { code: string }).code, result_kept: true },
    { call_id, state: 'finished', outcome: 'ok', result_kept: true },
  ]);
  expect((await stranger.use('call_result')).data).toEqual({ calls: [] });
  expect((await mailbox.use('mcp_counter__echo', { n: 1 })).meta).toEqual({});
});

test('results of hosted tools mention unread messages if the role may read them', async () => {
  await using stack = await startToolStack();
  stack.orchestrator.setPolicy({ mailbox: { mute: { tools: false } } });
  await using mailbox = await connectMailbox(await stack.executor('w1'), { unreadEveryMs: 1 });
  await using mute = await connectMailbox(await stack.executor('w2', 'mute'), { unreadEveryMs: 1 });
  const rosa = await stack.client('rosa');
  const echo = async (of: typeof mailbox) => (await of.use('mcp_counter__echo', { n: 1 })).meta;
  expect(await echo(mailbox)).toEqual({});
  for (const to of ['w1', 'w1', 'w2']) await rosa.deliver({ to, kind: 'note', body: 'x' });
  await expect.poll(() => echo(mailbox)).toEqual({ 'signalbox/unread': 2 });
  const read = await mailbox.use('inbox_read');
  expect(read.meta).toEqual({});
  // Held, and all of it offered.
  expect(await echo(mailbox)).toEqual({});
  await rosa.deliver({ to: 'w1', kind: 'note', body: 'x' });
  await expect.poll(() => echo(mailbox)).toEqual({ 'signalbox/unread': 1 });
  for (let calls = 0; calls < 3; calls++) expect(await echo(mute)).toEqual({});
});
