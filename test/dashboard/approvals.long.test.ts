import { commands, reads } from '@signalbox/daemon/dashboard';
import { isPermitted } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { jsonOf, signedIn } from '../support/dashboard/api-sign-in.ts';
import { startAskingDashboard } from '../support/dashboard/asking-dashboard.ts';
import { startDashboardStack } from '../support/dashboard/dashboard-stack.ts';

const count = 'mcp_counter__count';
const approve = (id: string) => ({ id, verdict: 'approve' });

test('Ended approvals are read page by page, and a standing one ends when it is revoked.', async () => {
  await using here = await startAskingDashboard();
  const mine = await signedIn(here);
  const bea = await here.stack.executor('bea', 'builder');
  const first = bea.execute({ name: count, arguments: { n: 1 } });
  const [{ id } = { id: '' }] = await here.waiting(1);
  const { standing } = jsonOf(await mine.post('approvals/decide', { ...approve(id), for_ms: 60_000 }));
  await first;
  await bea.execute({ name: count, arguments: { n: 2 } });
  const page = jsonOf(await mine.get('approvals?all=true&limit=1'));
  expect(page).toMatchObject({ more: true, approvals: [{ by: { standing: standing.id } }] });
  const rest = jsonOf(await mine.get(`approvals?all=true&limit=1&cursor=${page.cursor}`));
  expect(rest).toMatchObject({ approvals: [{ id }] });
  expect(jsonOf(await mine.get('approvals/standing')).standing).toMatchObject([
    { id: standing.id, tool: count },
  ]);
  await mine.post('approvals/revoke-standing', { id: standing.id });
  expect(jsonOf(await mine.get('approvals/standing'))).toEqual({ standing: [] });
  const third = bea.execute({ name: count, arguments: { n: 3 } });
  const [waiting] = await here.waiting(1);
  await mine.post('approvals/decide', { id: waiting!.id, verdict: 'deny', reason: 'enough' });
  expect((await third).error).toMatchObject({ code: 'approval_denied', may_have_run: false });
});

test('A token that only approves gets a link, decides on calls of its roles, and nothing else is answered to it.', async () => {
  await using here = await startAskingDashboard();
  const lead = await signedIn(here, await here.approver('lead', ['builder']));
  expect(jsonOf(await lead.get('sign-in'))).toMatchObject({
    ...{ agent: 'lead', role: 'lead', permissions: ['approver'], approves: ['builder'] },
  });
  const bea = await here.stack.executor('bea', 'builder');
  const tess = await here.stack.executor('tess', 'tester');
  const abort = new AbortController();
  const hers = tess.execute({ name: count, arguments: { of: 'tess' } }, { signal: abort.signal });
  const [other] = await here.waiting(1);
  const called = bea.execute({ name: count, arguments: { of: 'bea' } });
  await here.waiting(2);
  const { approvals } = jsonOf(await lead.get('approvals'));
  expect(approvals).toMatchObject([{ agent: 'bea', arguments: '{"of":"bea"}' }]);
  expect(jsonOf(await lead.get('approvals?all=true')).approvals).toHaveLength(1);

  // An approval of another role looks the same as one that does not exist.
  const unknown = { status: 404, body: expect.stringContaining('that you may see') };
  expect(await lead.get(`approvals/show?id=${other!.id}`)).toMatchObject(unknown);
  expect(await lead.get('approvals/show?id=nothing')).toMatchObject(unknown);
  expect(await lead.post('approvals/decide', approve(other!.id))).toMatchObject({ status: 403 });
  for (const [path, { needs }] of Object.entries({ ...reads, ...commands })) {
    if (isPermitted(needs, ['approver'])) continue;
    const answer = path in reads ? await lead.get(path) : await lead.post(path, {});
    expect(answer, path).toMatchObject({
      status: 403,
      body: expect.stringContaining('only decides on tool calls'),
    });
  }
  expect((await lead.post('approvals/decide', approve(approvals[0].id))).status).toBe(200);
  expect(await called).toHaveProperty('result.success', true);
  expect(here.runs()).toBe(1);
  abort.abort();
  await hers;
});

test('The token of a sign-in makes no further link: such a sign-in would outlive the token of the person.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const { cookie, key } = await signedIn(here);
  const [pad, masked] = [Buffer.from(cookie.split('=')[1]!, 'base64url'), Buffer.from(key, 'base64url')];
  const token = Buffer.from(masked.map((byte, index) => byte ^ pad[index]!)).toString();
  await expect(here.link(token)).rejects.toMatchObject({ code: 'forbidden' });
});
