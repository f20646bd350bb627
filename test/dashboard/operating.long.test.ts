import { connectBroker } from '@signalbox/client';
import { listTokens, makeSignInLink, revokeToken } from '@signalbox/client/operator';
import { commands } from '@signalbox/daemon/dashboard';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signedIn } from '../support/dashboard/api-sign-in.ts';
import { startDashboardStack } from '../support/dashboard/dashboard-stack.ts';
import { explained } from '../support/orchestrator/explained-step.ts';

test('Every command refuses an observer, and so do the result of a call and the body of a dead letter.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const { token } = await here.person('olga', 'observer');
  const olga = await signedIn(here, token);
  const refusal = { status: 403, body: expect.stringContaining('only looks') };
  for (const path of Object.keys(commands)) expect(await olga.post(path, {}), path).toMatchObject(refusal);
  for (const path of ['calls/show?agent=ann&id=r1', 'dead-letters/show?seq=1', 'backup'])
    expect(await olga.get(path), path).toMatchObject(refusal);
});

test('Needs attention names tokens from the moment when the configuration does not list their role any more.', async () => {
  const builder = { tools: ['*'] };
  let roles: Record<string, { tools: string[] }> = { builder };
  await using here = await startDashboardStack({
    counter: false,
    listed: () => ({ roles, unlisted: 'deny', file: 'signalbox.yaml' }),
  });
  await here.stack.broker.token('nina', 'builder');
  const mine = await signedIn(here);
  const stranded = async () =>
    JSON.stringify(jsonOf(await mine.get('attention'))).includes("Role 'builder' is");
  expect(await stranded()).toBe(false);
  roles = { tester: builder };
  expect(await stranded()).toBe(true);
});

test('A call is cancelled, and its result read, with what the orchestrator says of both.', async () => {
  await using here = await startDashboardStack();
  const mine = await signedIn(here);
  const bea = await here.stack.executor('bea', 'builder');
  await bea.execute({ name: 'mcp_counter__echo', arguments: { text: 'x' } }, { requestId: 'quick' });
  const called = bea.execute(
    { name: 'mcp_counter__slow', arguments: { ms: 100_000 } },
    { requestId: 'slow' },
  );
  await expect.poll(() => here.stack.ran('slow').length).toBe(1);
  const reason = 'wrong branch';
  expect(jsonOf(await mine.post('calls/cancel', { agent: 'bea', id: 'slow', reason }))).toEqual({
    cancelled: true,
    state: 'running',
    outcome: 'cancelled',
    may_have_run: true,
  });
  expect(await called).toMatchObject({ error: { code: 'cancelled', may_have_run: true } });
  expect(jsonOf(await mine.get('calls/show?agent=bea&id=quick'))).toMatchObject({
    state: 'finished',
    reply: { result: { structuredContent: { text: 'x' } } },
  });
  expect(await mine.post('calls/cancel', { agent: 'bea', id: 'nothing' })).toMatchObject({ status: 404 });
  const explanation = await mine.get('explain?role=builder&tool=mcp_counter__echo&arguments={"text":"x"}');
  expect(jsonOf(explanation)).toEqual(explained('approval', { verdict: 'passes' }));
});

test('A token is issued once under its key and connects, also when the sign-in that issued it is over.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const mine = await signedIn(here);
  const wish = { for: 'agent', agent: 'nina', role: 'builder', ttl_ms: 60_000 };
  const once = { 'idempotency-key': 'issue-for-nina' };
  const issued = jsonOf(await mine.post('tokens/issue', wish, once));
  expect(issued).toMatchObject({ agent: 'nina', role: 'builder', expires_at: expect.any(Number) });
  expect(jsonOf(await mine.post('tokens/issue', wish, once))).toEqual(issued);
  const person = { for: 'person', name: 'olga', permissions: 'observer' };
  expect(jsonOf(await mine.post('tokens/issue', person))).toMatchObject({ agent: 'operator.olga' });
  // A sign-in can't issue a token that outlives its own: nobody gets lasting access of an operator this way.
  const lasting = await mine.post('tokens/issue', { ...person, ttl_ms: 30 * 24 * 3_600_000 });
  expect(lasting).toMatchObject({ status: 403, body: expect.stringContaining('may not outlive') });
  for (const wrong of [
    { ...person, name: 'Olga!' },
    { ...wish, ttl_ms: 0 },
    { for: 'agent', agent: 'nina' },
  ])
    expect((await mine.post('tokens/issue', wrong)).status, JSON.stringify(wrong)).toBe(400);
  expect((await mine.post('tokens/issue', { ...wish, agent: 'operator' })).status).toBe(403);
  expect(JSON.stringify(jsonOf(await mine.get('tokens')))).not.toContain(issued.token);
  await mine.post('sign-in/end', {});
  await using nina = await connectBroker({
    url: here.stack.broker.url,
    token: issued.token,
    agent: 'nina',
  });
  expect(nina.welcome.role).toBe('builder');
});

test('What a page issues that does more than act for an agent ends with the person’s token, and what came of it, too.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const alice = await here.person('alice');
  const hers = await signedIn(here, alice.token);
  const issue = async (wish: object) => jsonOf(await hers.post('tokens/issue', { for: 'agent', ...wish }));
  const connect = (agent: string, token: string) =>
    connectBroker({ url: here.stack.broker.url, token, agent });
  const decides = await issue({ agent: 'bridge', role: 'worker', approves: ['builder'] });
  const mints = await issue({ agent: 'ci-*', role: 'worker' });
  const forEver = await hers.post('tokens/issue', {
    for: 'agent',
    agent: 'ci-*',
    role: 'worker',
    ttl_ms: null,
  });
  expect(forEver).toMatchObject({ status: 403, body: expect.stringContaining('at most') });
  await using minter = await connect('ci-0', mints.token);
  const minted = await minter.admin('token_issue', { agent: 'ci-1', role: 'worker' });
  const worker = await issue({ agent: 'nina', role: 'worker' });
  await hers.post('sign-in/end', {});
  // A token that decides may sign in itself, which a sign-in may not.
  await using bridge = await connect('bridge', decides.token);
  await expect(makeSignInLink(bridge)).resolves.toMatchObject({ links: [expect.any(String)] });
  const operator = await here.stack.client('operator', 'operator');
  await revokeToken(operator, alice.id);
  await bridge.closed;
  const left = (await listTokens(operator)).map(({ id }) => id);
  expect(left).toContain(worker.id);
  for (const { id } of [decides, mints, minted]) expect(left).not.toContain(id);
});

test('A backup is made into an empty directory of the broker’s machine, and says what is in it.', async () => {
  await using here = await startDashboardStack();
  await using directory = await tempDir();
  const mine = await signedIn(here);
  expect(jsonOf(await mine.get('backup'))).toEqual({ state: 'none' });
  expect((await mine.post('backup', { directory: 'relative' })).status).toBe(400);
  const target = `${directory.path}/today`;
  expect(jsonOf(await mine.post('backup', { directory: target }))).toMatchObject({ state: 'running' });
  const state = async () => jsonOf(await mine.get('backup')).state;
  await expect.poll(state).toBe('done');
  expect(jsonOf(await mine.get('backup'))).toMatchObject({
    directory: target,
    manifest: { files: expect.arrayContaining([expect.objectContaining({ name: 'messages.db' })]) },
    journal_missing: expect.any(String),
  });
  await mine.post('backup', { directory: target });
  await expect.poll(state).toBe('failed');
  expect(jsonOf(await mine.get('backup'))).toMatchObject({ code: 'backup_failed' });
});
