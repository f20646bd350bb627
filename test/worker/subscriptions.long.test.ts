import { connectBroker } from '@signalbox/client';
import { McpContentAllowlist, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { expect, test } from 'vitest';
import { startFixture } from '../support/conformance/fixture-server.ts';
import { oddMcpContentServer } from '../support/mcp-host/test-servers.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectHttpFace, startHttpFaceStack } from '../support/worker/http-face.ts';
import { connectFace, type McpClient } from '../support/worker/mcp-client.ts';

/** Remembers the updates that a client is told. */
function watchUpdates({ client }: McpClient): string[] {
  const heard: string[] = [];
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void heard.push(params.uri),
  );
  return heard;
}

const roles = McpContentAllowlist.fromEntries(
  [
    ['left', { resources: ['*:*://left*', '*:*://touch/*', '*:*://followed', '*:*://exit'] }],
    ['right', { resources: ['*:*://right*', '*:*://touch/*'] }],
  ],
  { unlisted: 'deny' },
);

test('Each of two roles hears the updates of what it follows and may read, from the first to the last subscriber.', async () => {
  await using stack = await startToolStack({
    servers: { odd: oddMcpContentServer() },
    mcpContent: roles,
    counter: false,
  });
  await using left = await connectFace(await stack.executor('a', 'left'));
  await using other = await connectFace(await stack.executor('c', 'left'));
  await using right = await connectFace(await stack.executor('b', 'right'), { era: 'modern' });
  const [leftHeard, otherHeard, rightHeard] = [left, other, right].map(watchUpdates);
  const touch = (name: string) => left.request('resources/read', { uri: `odd://touch/${name}` });
  const followed = async () => {
    const { contents } = await left.request('resources/read', { uri: 'odd://followed' });
    return (contents as { text: string }[])[0]!.text;
  };

  await left.request('resources/subscribe', { uri: 'odd://left' });
  await other.request('resources/subscribe', { uri: 'odd://left' });
  await expect(left.request('resources/subscribe', { uri: 'odd://right' })).rejects.toMatchObject({
    code: -32602,
  });
  await expect(left.request('resources/subscribe', { uri: 'odd://left/../right' })).rejects.toMatchObject({
    code: -32602,
  });
  const stream = await right.client.listen({ resourceSubscriptions: ['odd://right', 'odd://left'] });
  expect(stream.honoredFilter).toEqual({ resourceSubscriptions: ['odd://right'] });
  await expect.poll(followed).toBe('odd://left odd://right');

  // Nobody follows the first one.
  await touch('left-of-nobody');
  await touch('right');
  await touch('left');
  await expect
    .poll(() => [leftHeard, otherHeard, rightHeard])
    .toEqual([['odd://left'], ['odd://left'], ['odd://right']]);

  // The server is asked again after its restart, and told when the last subscriber has gone.
  await left.request('resources/read', { uri: 'odd://exit' }).catch(() => {});
  await expect.poll(followed).toBe('odd://left odd://right');
  await left.request('resources/unsubscribe', { uri: 'odd://left' });
  await stream.close();
  await expect.poll(followed).toBe('odd://left');
  await touch('left');
  await expect.poll(() => otherHeard).toEqual(['odd://left', 'odd://left']);
  expect([leftHeard, rightHeard]).toEqual([['odd://left'], ['odd://right']]);

  // A role gets no updates of a resource that it may no longer read.
  stack.orchestrator.setPolicy({
    mcpContent: roles.withRole('left', { resources: ['*:*://touch/*', '*:*://free'] }),
  });
  await left.request('resources/subscribe', { uri: 'odd://free' });
  await touch('left');
  await touch('free');
  await expect.poll(() => leftHeard).toEqual(['odd://left', 'odd://free']);
  expect(otherHeard).toHaveLength(2);
});

test('Updates of a server of the current revision arrive too.', async () => {
  await using fixture = await startFixture();
  const servers = { fixture: { type: 'http' as const, url: fixture.url } };
  await using stack = await startToolStack({ servers, counter: false });
  await using face = await connectFace(await stack.executor('a'));
  const heard = watchUpdates(face);
  const uri = 'test://watched-resource';
  await face.request('resources/subscribe', { uri });
  await expect
    .poll(async () => {
      await face.call('mcp_fixture__test_change_resource', { uri });
      return heard;
    })
    .toContain(uri);
});

test('A worker says again what it follows to an orchestrator that is new.', async () => {
  await using stack = await startToolStack({ servers: { odd: oddMcpContentServer() }, counter: false });
  await using face = await connectFace(await stack.executor('a'));
  const heard = watchUpdates(face);
  await face.request('resources/subscribe', { uri: 'odd://left' });
  await stack.orchestrator.stop();
  const { url, tokenOf } = stack.broker;
  const token = await tokenOf('orchestrator', 'orchestrator');
  await using client = await connectBroker({ url, token, agent: 'orchestrator' });
  await using _next = await startOrchestrator({ client, host: stack.host, policy: wholePolicy() });
  await expect
    .poll(async () => {
      await face.request('resources/read', { uri: 'odd://touch/left' });
      return heard;
    })
    .toContain('odd://left');
});

test('Over HTTP each client hears of what it follows, in both eras.', async () => {
  await using opened = await startHttpFaceStack({
    servers: { odd: oddMcpContentServer() },
    mcpContent: roles,
    counter: false,
  });
  const { stack, face } = opened;
  const token = await stack.broker.token('a', 'left');
  await using legacy = await connectHttpFace(face.url, token, 'legacy');
  await using modern = await connectHttpFace(face.url, token, 'modern');
  const [legacyHeard, modernHeard] = [legacy, modern].map(watchUpdates);
  await legacy.request('resources/subscribe', { uri: 'odd://left' });
  const stream = await modern.client.listen({ resourceSubscriptions: ['odd://left2', 'odd://right'] });
  expect(stream.honoredFilter).toEqual({ resourceSubscriptions: ['odd://left2'] });
  for (const name of ['right', 'left2', 'left'])
    await legacy.request('resources/read', { uri: `odd://touch/${name}` });
  await expect.poll(() => [legacyHeard, modernHeard]).toEqual([['odd://left'], ['odd://left2']]);
  await stream.close();
  const followed = async () => {
    const { contents } = await legacy.request('resources/read', { uri: 'odd://followed' });
    return (contents as { text: string }[])[0]!.text;
  };
  await expect.poll(followed).toBe('odd://left');
  // The code for what is not there is the one of each revision.
  const missing = { uri: 'odd://left/gone' };
  const gone = { message: expect.stringContaining('it is gone'), data: { path: '/gone' } };
  await expect(legacy.request('resources/read', missing)).rejects.toMatchObject({ code: -32002, ...gone });
  await expect(modern.request('resources/read', missing)).rejects.toMatchObject({ code: -32602, ...gone });
  await legacy.transport.terminateSession();
  await expect
    .poll(async () => {
      const { contents } = await modern.request('resources/read', { uri: 'odd://followed' });
      return (contents as { text: string }[])[0]!.text;
    })
    .toBe('');
});
