import { expect, test } from 'vitest';
import { connectHttpFace, startHttpFaceStack } from '../support/worker/http-face.ts';
import { connectMailbox, startMailboxStack } from '../support/worker/mailbox-client.ts';
import type { McpClient } from '../support/worker/mcp-client.ts';
import { newConsumer, startSharedFaceStack } from '../support/worker/shared-face.ts';

const group = 'role:writer';
const bodiesOf = ({ data }: { data: { messages: { body: unknown }[] } }) =>
  data.messages.map(({ body }) => body);

async function start(options: Parameters<typeof startMailboxStack>[0] = {}) {
  const mail = await startMailboxStack(options);
  const alice = await mail.clientAt('alice#send');
  const send = async (body: string, more: object = {}) =>
    await alice.deliver({ to: group, kind: 'task', body, ...more });
  const waiting = async () =>
    (await (await mail.clientAt('look#1', 'writer')).peek({ address: group })).length;
  return { ...mail, alice, send, waiting };
}

test('an agent takes one message of its group at a time, and the next one when it has replied or acked', async () => {
  await using mail = await start();
  const walt = await mail.mailbox('walt', 'writer');
  const omar = await mail.mailbox('omar', 'writer');
  await mail.alice.subscribe();
  for (const body of ['one', 'two', 'three']) await mail.send(body);
  const first = await walt.use('inbox_read', { group });
  expect(first.data).toMatchObject({
    group,
    unacked: 1,
    at_broker: true,
    messages: [{ body: 'one', group }],
  });
  expect(first.text).toContain('sent to the group: role:writer');
  const [{ id }] = first.data.messages;
  const again = await walt.use('inbox_read', { group });
  expect(again.data.messages).toMatchObject([{ id, shown_before: true, attempt: 1 }]);
  expect(again.text).toContain('nothing new comes before you reply');
  expect(bodiesOf(await omar.use('inbox_wait', { group }))).toEqual(['two']);
  const full = await omar.use('inbox_wait', { group });
  expect(full.data).toMatchObject({ messages: [], unacked: 1 });

  expect(await walt.use('reply', { message_id: id, text: 'done' })).toMatchObject({
    isError: false,
    text: expect.stringContaining('the message is acked'),
  });
  const third = await walt.use('inbox_wait', { group });
  expect(bodiesOf(third)).toEqual(['three']);
  // The cursor holds its group: it acks there, no matter what is read with it.
  expect((await walt.use('inbox_read', { ack: third.data.cursor })).data).toMatchObject({ acked: 1 });
  expect((await walt.use('inbox_read', { group })).data).toMatchObject({ messages: [], unacked: 0 });
  expect(await mail.waiting()).toBe(1);
});

test('an agent takes as many messages as it says, and waits for more while it holds fewer', async () => {
  await using mail = await start();
  const walt = await mail.mailbox('walt', 'writer');
  for (const body of ['one', 'two', 'three']) await mail.send(body);
  expect(bodiesOf(await walt.use('inbox_read', { group, limit: 2 }))).toEqual(['one', 'two']);
  expect(bodiesOf(await walt.use('inbox_wait', { group, limit: 3 }))).toEqual(['three']);
  const waiting = walt.use('inbox_wait', { group, limit: 4 });
  const both = walt.use('inbox_read', { group, limit: 3 });
  expect(bodiesOf(await both)).toEqual(['one', 'two', 'three']);
  await mail.send('four');
  expect(bodiesOf(await waiting)).toEqual(['four']);
  // No message comes without a read.
  await mail.send('five');
  const omar = await mail.mailbox('omar', 'writer');
  expect(bodiesOf(await omar.use('inbox_wait', { group }))).toEqual(['five']);
});

test('a group that cannot be read is refused with words that help, and nothing is taken', async () => {
  await using mail = await start({ roles: ['editor'], groups: { press: { roles: ['writer'] } } });
  const walt = await mail.mailbox('walt', 'writer');
  await mail.alice.deliver({ to: 'role:editor', kind: 'task', body: 'for an editor' });
  const refused = async (name: string) => {
    const { isError, text } = await walt.use('inbox_read', { group: name });
    expect(isError).toBe(true);
    return text;
  };
  expect(await refused('role:wirter')).toMatch(/^unknown_group: .*did you mean 'role:writer' or/);
  expect(await refused('role:editor')).toMatch(
    /^not_a_member: .*may take messages of 'role:writer' and 'group:press'\.$/,
  );
  expect(await refused('writer')).toContain('the group of your own role is role:writer');
  expect(await walt.use('inbox_wait', { group: 'group:press', timeout_s: 0 })).toMatchObject({
    isError: false,
    text: expect.stringContaining('No new messages of group:press'),
  });
  const eva = await mail.mailbox('eva', 'editor');
  expect((await eva.use('inbox_read', { group: 'role:editor' })).data.messages).toMatchObject([
    { body: 'for an editor', attempt: 1 },
  ]);
});

test('an agent holds messages of so many groups, and one that it is done with makes room for the next', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const groups = Object.fromEntries(names.map((name) => [name, { roles: ['writer'] }]));
  await using mail = await start({ groups });
  const walt = await mail.mailbox('walt', 'writer');
  let cursor: string | undefined;
  for (const name of names) {
    await mail.alice.deliver({ to: `group:${name}`, kind: 'note', body: name });
    const read = await walt.use('inbox_read', { group: `group:${name}` });
    expect(bodiesOf(read)).toEqual([name]);
    cursor = read.data.cursor;
  }
  await mail.send('more');
  const refused = await walt.use('inbox_read', { group });
  expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('4 groups already') });
  const read = await walt.use('inbox_read', { group, ack: cursor });
  expect(bodiesOf(read)).toEqual(['more']);
  expect((await walt.use('inbox_read', { group: 'group:a' })).data.messages).toHaveLength(1);
});

test('what an agent holds goes to another one when its face ends, as a further attempt', async () => {
  await using mail = await start();
  const walt = await mail.mailbox('walt', 'writer');
  const omar = await mail.mailbox('omar', 'writer');
  await mail.send('read');
  await walt.use('inbox_read', { group });
  const waiting = omar.use('inbox_wait', { group });
  await walt.face.close();
  expect((await waiting).data.messages).toMatchObject([{ body: 'read', attempt: 2, shown_before: true }]);
});

test('a cancelled wait takes nothing, and what came for it goes to another one as if it had never left', async () => {
  await using mail = await start();
  const walt = await mail.mailbox('walt', 'writer');
  const abort = new AbortController();
  const waiting = walt.use('inbox_wait', { group }, { signal: abort.signal });
  await expect
    .poll(async () => (await mail.alice.listConnected({ role: 'writer' })).map(({ address }) => address))
    .toContainEqual(expect.stringContaining('walt#grp-'));
  abort.abort();
  await expect(waiting).rejects.toThrow();
  await mail.send('one');
  const omar = await mail.mailbox('omar', 'writer');
  const { data } = await omar.use('inbox_wait', { group });
  expect(data.messages).toMatchObject([{ body: 'one', attempt: 1 }]);
  expect(data.messages[0]).not.toHaveProperty('shown_before');
});

test('a broker that restarts takes back what agents hold; they are told, and the first reply counts', async () => {
  await using mail = await start();
  const walt = await mail.mailbox('walt', 'writer');
  const omar = await mail.mailbox('omar', 'writer');
  for (const body of ['one', 'two', 'three']) await mail.send(body);
  const held = await walt.use('inbox_read', { group, limit: 3 });
  const [one, two, three] = held.data.messages.map(({ id }: { id: string }) => id);
  await mail.broker.restart();
  const taken = await omar.use('inbox_wait', { group });
  expect(bodiesOf(taken)).toEqual(['one']);
  const told = await walt.use('inbox_wait', { group });
  expect(told.data).toMatchObject({
    lost: [one, two, three],
    messages: [{ body: 'two', shown_before: true }],
  });
  expect(told.text).toContain(`You hold no longer: ${one}, ${two}, ${three}`);

  const late = await walt.use('reply', { message_id: one, text: 'late' });
  expect(late).toMatchObject({ isError: false, data: { held_no_longer: true } });
  const second = await omar.use('reply', { message_id: one, text: 'second' });
  expect(second).toMatchObject({ isError: true, text: expect.stringContaining('was answered already') });
  expect((await walt.use('reply', { message_id: two, text: 'mine again' })).data).not.toHaveProperty(
    'held_no_longer',
  );
  const acked = await walt.use('inbox_read', { group, ack: held.data.cursor });
  expect(acked.data).toMatchObject({ acked: 0, taken_back: 1, messages: [{ id: three }] });
});

test('a message that no call named for ten minutes goes to another agent, and a read renews that time', async () => {
  let ahead = 0;
  await using mail = await start({ now: () => Date.now() + ahead });
  const walt = await mail.mailbox('walt', 'writer');
  await mail.send('one');
  await mail.send('two');
  const { data } = await walt.use('inbox_read', { group, limit: 2 });
  const [one, two] = data.messages;
  ahead = 9 * 60_000;
  await walt.use('inbox_read', { group });
  // The broker answers this read after it has handled the one before.
  await walt.use('inbox_wait', { group, timeout_s: 0 });
  ahead = 18 * 60_000;
  const omar = await mail.mailbox('omar', 'writer');
  expect(bodiesOf(await omar.use('inbox_wait', { group, timeout_s: 0 }))).toEqual([]);
  ahead = 20 * 60_000;
  const taken = await omar.use('inbox_wait', { group });
  expect(taken.data.messages).toMatchObject([{ id: one.id, attempt: 2 }]);
  expect((await walt.use('reply', { message_id: two.id, text: 'late' })).data).toMatchObject({
    held_no_longer: true,
  });
});

test('a session over HTTP that ends gives back what it took, and what other sessions took stays', async () => {
  await using site = await startHttpFaceStack({ counter: false });
  const { stack, face } = site;
  const alice = await stack.client('alice');
  const token = await stack.broker.tokenOf('walt', 'writer');
  for (const body of ['one', 'two', 'three']) await alice.deliver({ to: group, kind: 'note', body });
  const read = async (session: McpClient, limit: number) => {
    const { structuredContent } = await session.call('signalbox_inbox_wait', { group, limit });
    return (structuredContent as { messages: object[] }).messages;
  };
  await using first = await connectHttpFace(face.url, token, 'legacy');
  await using second = await connectHttpFace(face.url, token, 'legacy');
  await using without = await connectHttpFace(face.url, token, 'modern');
  expect(await read(first, 1)).toMatchObject([{ body: 'one' }]);
  expect(await read(second, 2)).toMatchObject([{ body: 'two' }]);
  expect(await read(without, 3)).toMatchObject([{ body: 'three' }]);
  await first.transport.terminateSession();
  await using omar = await connectMailbox(await stack.executor('omar', 'writer'));
  const taken = await omar.use('inbox_wait', { group, limit: 2 });
  expect(taken.data.messages).toMatchObject([{ body: 'one', attempt: 2 }]);
  await site.face.close();
  expect(bodiesOf(await omar.use('inbox_wait', { group, limit: 3 }))).toEqual(['two', 'three']);
});

test('a shim that ends gives back what its session took, and a reply that was stored is known at the next face', async () => {
  await using site = await startSharedFaceStack({ counter: false });
  const workers = 'role:worker';
  const { stack } = site;
  const alice = await stack.client('alice', 'sender');
  const consumer = newConsumer();
  await using rosa = await site.shim('rosa', { consumer });
  for (const id of ['one', 'two']) await alice.deliver({ to: workers, kind: 'task', id, body: id });
  await rosa.call(2, 'signalbox_inbox_read', { group: workers, limit: 2 });
  const reply = { message_id: 'one', text: 'done' };
  expect(await rosa.call(3, 'signalbox_reply', reply)).toMatchObject({ result: { structuredContent: {} } });
  rosa.socket.destroy();
  await using omar = await connectMailbox(await stack.executor('omar'));
  const taken = await omar.use('inbox_wait', { group: workers });
  expect(taken.data.messages).toMatchObject([{ id: 'two', attempt: 2 }]);
  await using again = await site.shim('rosa', { consumer });
  expect(await again.call(3, 'signalbox_reply', reply)).toMatchObject({
    result: { content: [{ text: expect.stringContaining('is stored') }] },
  });
});
