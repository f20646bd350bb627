import { connectBroker, requestAddress } from '@signalbox/client';
import { listTokens, makeSignInLink, revokeToken } from '@signalbox/client/operator';
import { expect, test } from 'vitest';
import { jsonOf, signedIn, signIn } from '../support/dashboard/api-sign-in.ts';
import { startDashboardStack } from '../support/dashboard/dashboard-stack.ts';
import { ask } from '../support/http/ask.ts';

test('A link signs in once, with a cookie that no script reads and that goes to the API alone.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const link = await here.link();
  expect(link.startsWith(`${here.origin}/ui/#code=`)).toBe(true);
  const first = await signIn(here, link);
  expect(first).toHaveProperty(
    'setCookie',
    expect.stringMatching(/; Path=\/api; HttpOnly; SameSite=Strict; Max-Age=43\d{3}$/),
  );
  expect(await signIn(here, link)).toMatchObject({
    status: 401,
    body: expect.stringContaining('used already'),
  });
  expect(await signIn(here, `${here.origin}/ui/#code=guess`)).toMatchObject({ status: 401 });
});

test('Neither the cookie nor the key alone is a sign-in, nor are those of two sign-ins together.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const [one, other] = [await signedIn(here), await signedIn(here)];
  expect(jsonOf(await one.get('sign-in'))).toMatchObject({
    agent: 'operator',
    permissions: ['operator'],
  });
  const port = { port: here.stack.broker.port };
  const as = async (headers: Record<string, string>) => (await ask(port, '/api/sign-in', { headers })).status;
  expect(await as({ cookie: one.cookie, 'x-signalbox-key': one.key })).toBe(200);
  expect(await as({ cookie: one.cookie })).toBe(401);
  expect(await as({ 'x-signalbox-key': one.key })).toBe(401);
  expect(await as({ cookie: one.cookie, 'x-signalbox-key': other.key })).toBe(401);
  // The cookie is no token of the broker, so that who sees it can't connect with it either.
  const connecting = connectBroker({
    url: here.stack.broker.url,
    token: one.cookie.split('=')[1]!,
    agent: 'operator',
  });
  await expect(connecting).rejects.toMatchObject({ code: 'unauthorized' });
});

test('A sign-in ends with the token that it was begun with, at once, and its stream says why.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const alice = await here.person('alice');
  const hers = await signedIn(here, alice.token);
  const stream = hers.get('events');
  await expect.poll(async () => (await hers.get('agents')).status).toBe(200);
  const operator = await here.stack.client('operator', 'operator');
  await revokeToken(operator, alice.id);
  expect((await stream).body).toMatch(/event: end\ndata: \{"code":"unauthorized"/);
  expect((await hers.get('sign-in')).status).toBe(401);
});

test('Signing out ends one sign-in. Others of the same person go on, also over a restart of the broker.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const [one, other] = [await signedIn(here), await signedIn(here)];
  expect(await one.post('sign-in/end', {})).toMatchObject({ status: 200 });
  expect((await one.get('sign-in')).status).toBe(401);
  await here.restart();
  expect((await other.get('sign-in')).status).toBe(200);
});

test('Of seventeen sign-ins of one person the oldest has ended.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const oldest = await signedIn(here);
  for (let more = 0; more < 15; more++) await signedIn(here);
  expect((await oldest.get('sign-in')).status).toBe(200);
  await signedIn(here);
  expect((await oldest.get('sign-in')).status).toBe(401);
});

test('Agents get no link; an observer gets one, and sees what happens without bodies, and changes nothing.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const worker = await here.stack.client('walt');
  await expect(makeSignInLink(worker)).rejects.toMatchObject({ code: 'forbidden' });
  const { token } = await here.person('olga', 'observer');
  const olga = await signedIn(here, token);
  expect(jsonOf(await olga.get('sign-in'))).toMatchObject({
    agent: 'operator.olga',
    permissions: ['observer'],
  });
  expect((await olga.get('attention')).status).toBe(200);
  for (const answer of [
    await olga.get('dead-letters/show?seq=1'),
    await olga.post('dead-letters/drop', { seqs: [1] }),
    await olga.post('messages/send', { to: 'walt', text: 'hello' }),
    await olga.post('tokens/revoke', { id: 'x' }),
  ])
    expect(answer).toMatchObject({ status: 403, body: expect.stringContaining('only looks') });
});

test('Without a page that asks, the dashboard has no connection to the broker.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const operator = await here.stack.client('operator', 'operator');
  const connections = async () => (await operator.listConnected()).length;
  const before = await connections();
  expect((await ask({ port: here.stack.broker.port }, '/ui/')).status).toBe(200);
  const mine = await signedIn(here);
  expect(await connections()).toBe(before);
  await mine.get('status');
  expect(await connections()).toBe(before + 1);
});

test('Sign-ins are listed among the tokens, as children of the token that they were begun with.', async () => {
  await using here = await startDashboardStack({ counter: false });
  await signedIn(here);
  const operator = await connectBroker({
    url: here.stack.broker.url,
    token: await here.stack.broker.operatorToken(),
    agent: requestAddress('operator'),
  });
  await using _closing = operator;
  const tokens = await listTokens(operator);
  const own = tokens.find(({ agent, parent_id }) => agent === 'operator' && parent_id === undefined);
  expect(tokens).toContainEqual(expect.objectContaining({ agent: 'operator', parent_id: own!.id }));
});
