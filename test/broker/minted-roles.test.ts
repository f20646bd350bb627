import { connectWire, startTestBroker, type WireClient } from '@signalbox/testing';
import { expect, it } from 'vitest';

async function issue(client: WireClient, params: object): Promise<Record<string, unknown>> {
  const request_id = crypto.randomUUID();
  client.send({ type: 'admin', request_id, op: 'token_issue', params });
  const frame = await client.next(['admin_result', 'error'], { request_id });
  return frame.type === 'error' ? frame : (frame.result as Record<string, unknown>);
}

const roles = ['tester', 'writer'];

it('A minting token issues tokens in the roles of its list, also after a restart, and in no other.', async () => {
  await using broker = await startTestBroker();
  const operator = await connectWire(broker.url, { agent: 'operator', token: await broker.operatorToken() });
  const minter = await issue(operator, { agent: 'ci-*', role: 'tester', roles });
  expect(minter).toMatchObject({ agent: 'ci-*', role: 'tester', roles });
  const narrow = await issue(operator, { agent: 'ci-*', role: 'tester' });
  expect(narrow).not.toHaveProperty('roles');
  await operator[Symbol.asyncDispose]();
  await broker.restart();

  await using wide = await connectWire(broker.url, { agent: 'ci-minter', token: String(minter.token) });
  await using one = await connectWire(broker.url, { agent: 'ci-minter', token: String(narrow.token) });
  for (const role of roles) {
    const child = await issue(wide, { agent: `ci-${role}`, role });
    await using worker = await connectWire(broker.url, { agent: `ci-${role}`, token: String(child.token) });
    expect(worker.received.find(({ type }) => type === 'welcome')).toMatchObject({ role });
  }
  expect(await issue(wide, { agent: 'ci-9', role: 'reviewer' })).toMatchObject({
    code: 'forbidden',
    field: 'role',
    message: "this token may only issue one of the roles 'tester', 'writer'",
  });
  expect(await issue(one, { agent: 'ci-9', role: 'writer' })).toMatchObject({
    message: "this token may only issue the role 'tester'",
  });
  // It hands its list on to nobody.
  for (const agent of ['ci-9', 'ci-a*'])
    expect(await issue(wide, { agent, role: 'tester', roles })).toHaveProperty('code');
});

it.each<[object, string]>([
  [{ agent: 'rosa', role: 'tester', roles }, "'roles' is for a minting token, and 'rosa' is no pattern"],
  [{ agent: 'ci-*', role: 'reviewer', roles }, "the role 'reviewer' is none of 'roles': tester, writer"],
  [
    { agent: 'ci-*', role: 'tester', roles: ['tester', 'operator'] },
    "'operator' goes only with an agent named",
  ],
  [
    { agent: 'ci-*', role: 'tester', roles: ['tester', 'observer'] },
    "'observer' goes only with an agent named",
  ],
  [{ agent: 'ci-*', role: 'tester', roles: [] }, 'must be a list of 1 to 32 roles'],
  [{ agent: 'ci-*', role: 'tester', roles: 'tester' }, 'must be a list of 1 to 32 roles'],
  [{ agent: 'ci-*', role: 'tester', roles: ['tester', 'A b'] }, 'must be a role'],
])('A minting token for %j is refused: %s.', async (params, words) => {
  await using broker = await startTestBroker();
  await using operator = await connectWire(broker.url, {
    agent: 'operator',
    token: await broker.operatorToken(),
  });
  expect(await issue(operator, params)).toMatchObject({ message: expect.stringContaining(words) });
});
