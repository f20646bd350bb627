import { expect, test } from 'vitest';
import { refuseToken } from './token-rules.ts';

test('The role of orchestrators with a label and their names go together, and such a token does nothing else.', () => {
  expect(refuseToken({ agent: 'orchestrator.gpu', role: 'host' })).toBeUndefined();
  for (const [agent, role, field] of [
    ['rosa', 'host', 'agent'],
    ['orchestrator', 'host', 'agent'],
    ['orchestrator.*', 'host', 'agent'],
    ['orchestrator.gpu', 'worker', 'role'],
    ['orchestrator.gpu', 'orchestrator', 'role'],
    ['orchestrator.g*', 'worker', 'agent'],
  ] as const)
    expect(refuseToken({ agent, role }), `${agent} ${role}`).toMatchObject({ code: 'forbidden', field });
  const decides = { agent: 'orchestrator.gpu', role: 'host', approves: ['*'] };
  expect(refuseToken(decides)).toMatchObject({ field: 'approves' });
});
