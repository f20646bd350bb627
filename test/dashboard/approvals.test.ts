import { McpProxyExecutor } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { jsonOf, signedIn } from '../support/dashboard/api-sign-in.ts';
import { startAskingDashboard } from '../support/dashboard/asking-dashboard.ts';

const count = 'mcp_counter__count';
const approve = (id: string) => ({ id, verdict: 'approve' });

test('An operator reads what waits and approves it once; the second one hears who was first, and nothing runs twice.', async () => {
  await using here = await startAskingDashboard();
  const [alice, bob] = [
    await signedIn(here, (await here.person('alice')).token),
    await signedIn(here, (await here.person('bob')).token),
  ];
  const bea = await here.stack.executor('bea', 'builder');
  const long = 'x'.repeat(1000);
  const called = bea.execute({ name: count, arguments: { path: '/srv', long } });
  const [listed] = await here.waiting(1);
  expect(listed).toMatchObject({ agent: 'bea', tool: count, arguments_cut: true });
  expect(listed!.arguments).toHaveLength(400);
  const { id } = listed!;
  const { approval } = jsonOf(await alice.get(`approvals/show?id=${id}`));
  expect(JSON.parse(approval.arguments)).toEqual({ path: '/srv', long });
  expect(jsonOf(await alice.get('attention'))).toMatchObject({
    approvals: 1,
    items: [{ level: 'now', approval: { id } }],
  });
  const deny = { id, verdict: 'deny', reason: 'not on Fridays' };
  expect((await alice.post('approvals/decide', { id, verdict: 'deny' })).status).toBe(400);
  const answers = [
    await alice.post('approvals/decide', approve(id)),
    await bob.post('approvals/decide', deny),
  ];
  expect(answers.map(jsonOf)).toMatchObject([
    { decided: true, approval: { state: 'approved' } },
    { decided: false, approval: { state: 'approved', by: { agent: 'operator.alice' } } },
  ]);
  expect(await called).toHaveProperty('result.success', true);
  expect(here.runs()).toBe(1);
  expect(jsonOf(await bob.get('approvals')).approvals).toEqual([]);
  expect(jsonOf(await bob.get('approvals?all=true')).approvals).toMatchObject([{ id, state: 'approved' }]);
});

test('An observer sees what waits without arguments, and decides, holds and releases nothing.', async () => {
  await using here = await startAskingDashboard();
  const olga = await signedIn(here, (await here.person('olga', 'observer')).token);
  const bea = await here.stack.executor('bea', 'builder');
  const abort = new AbortController();
  const called = bea.execute({ name: count, arguments: { secret: 'plan' } }, { signal: abort.signal });
  const [{ id } = { id: '' }] = await here.waiting(1);
  for (const path of ['approvals', `approvals/show?id=${id}`, 'approvals?all=true', 'attention']) {
    const { body } = await olga.get(path);
    expect(body, path).toContain(id);
    expect(body, path).not.toContain('plan');
  }
  for (const [path, params] of [
    ['approvals/decide', approve(id)],
    ['approvals/revoke-standing', { id }],
    ['holds/place', { on: 'all', reason: 'x' }],
    ['holds/release', { ids: ['x'] }],
  ] as const)
    expect(await olga.post(path, params), path).toMatchObject({
      status: 403,
      body: expect.stringContaining('only looks'),
    });
  expect(jsonOf(await olga.get('holds'))).toEqual({ holds: [] });
  expect(here.runs()).toBe(0);
  abort.abort();
  await called;
});

test('A sign-in of an approver is told of no events, decides on no call of its own agent, and begins no other sign-in.', async () => {
  await using here = await startAskingDashboard();
  const token = await here.approver('lead', ['*']);
  const lead = await signedIn(here, token);
  const own = await here.stack.broker.broker.issueToken({ agent: 'lead', role: 'builder' });
  await using executor = await McpProxyExecutor.connect({
    ...{ url: here.stack.broker.url, token: own.token, agent: 'lead' },
  });
  const abort = new AbortController();
  const called = executor.execute({ name: count }, { signal: abort.signal });
  const [{ id } = { id: '' }] = await here.waiting(1);
  const refused = await lead.post('approvals/decide', approve(id));
  expect(refused).toMatchObject({
    status: 403,
    body: expect.stringContaining('nobody decides on its own calls'),
  });
  expect(here.runs()).toBe(0);
  abort.abort();
  await called;

  const stream = lead.get('events');
  // The question stays open when its caller stops waiting.
  await here.waiting(1);
  const operator = await here.stack.client('operator', 'operator');
  const tokens = (await operator.admin('token_list', {})).tokens;
  const parent = tokens.find(({ permissions, parent_id }) => permissions.includes('approver') && !parent_id);
  await operator.admin('token_revoke', { id: parent!.id });
  const { body } = await stream;
  expect(body).toMatch(/event: hello\ndata: {"resumed":false}\n\nevent: end\ndata: {"code":"unauthorized"/);
  expect(body).not.toContain('event: batch');
  expect((await lead.get('approvals')).status).toBe(401);
});
