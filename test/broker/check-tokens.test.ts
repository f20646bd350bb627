import { connectWire, startTestBroker } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { admin, connect, connectOperator } from '../support/broker/wire-actions.ts';

it('tells orchestrators who issued the tokens of agents and which tokens decide, and nobody else', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  const issue = (fields: object) =>
    admin<{ token: string; id: string }>(operator, 'token_issue', { ...fields });
  const minting = await issue({ agent: 'ci-*', role: 'worker' });
  await using minter = await connectWire(broker.url, { agent: 'ci-0', token: minting.token });
  await admin(minter, 'token_issue', { agent: 'ci-1', role: 'worker' });
  const lead = await issue({ agent: 'lead', role: 'worker', approves: ['ci-*'] });
  await using orchestrator = await connect(broker, 'orchestrator', 'orchestrator');
  const question = {
    type: 'check_tokens',
    agents: ['ci-1', 'lead', 'nobody'],
    deciders: [
      { token_id: lead.id, role: 'ci-x' },
      { token_id: lead.id, role: 'worker' },
      { token_id: 'unknown', role: 'ci-x' },
    ],
  };
  orchestrator.send({ ...question, request_id: 'q1' });
  expect(await orchestrator.next('tokens_checked')).toMatchObject({
    ...{ request_id: 'q1', minters: [minting.id, '', ''], decide: [true, false, false] },
  });
  await admin(operator, 'token_revoke', { id: lead.id });
  orchestrator.send({ ...question, request_id: 'q2' });
  expect(await orchestrator.next('tokens_checked', { request_id: 'q2' })).toHaveProperty('decide', [
    ...[false, false, false],
  ]);
  await using rosa = await connect(broker, 'rosa');
  rosa.send({ ...question, request_id: 'q3' });
  expect(await rosa.next('error')).toMatchObject({ code: 'forbidden', request_id: 'q3' });
});
