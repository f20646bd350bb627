import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

const count = 'mcp_counter__count';

test('status, ps and the figures count the calls that wait for a person and the holds that stand', async () => {
  await using stack = await startAskingStack();
  const { figures: before } = stack.orchestrator.status();
  expect(before).toMatchObject({ approvals: [[[], 0]], oldestApproval: [] });
  const rosa = await stack.executor('rosa');
  const ended = rosa.execute({ name: count });
  const [approval] = await stack.waits();
  const { hold } = await stack.operator.admin('hold', {
    ...{ on: 'tool', name: 'mcp_counter__slow', reason: 'the disk is full' },
  });
  const at = ['--data', stack.broker.dataDir];
  const [status, statusJson, ps, psJson] = [
    await signalbox(['status', ...at]),
    await signalbox(['status', '--json', ...at]),
    await signalbox(['ps', ...at]),
    await signalbox(['ps', '--json', ...at]),
  ];
  expect(status.stdout).toMatch(/^approvals +1 tool call waits for a person, .*: signalbox approvals$/m);
  expect(status.stdout).toMatch(/^holds +1 hold: signalbox holds$/m);
  expect(status.code).toBe(0);
  const { created_at: oldest_at, deadline_at } = approval!;
  expect(jsonOf(statusJson)).toMatchObject({
    ok: true,
    holds: [hold],
    orchestrator: { approvals: { waiting: 1, oldest_at, deadline_at }, calls_held: 0 },
  });
  expect(ps.stdout).toContain('the disk is full');
  expect(ps.stdout).toContain('1 tool call waits for a person; see: signalbox approvals\n');
  expect(jsonOf(psJson)).toMatchObject({ holds: [hold], approvals_waiting: 1 });
  const { figures } = stack.orchestrator.status();
  expect(figures).toMatchObject({ approvals: [[[], 1]], oldestApproval: [[[], expect.any(Number)]] });
  await stack.decide(approval!.id, { verdict: 'deny', reason: 'enough' });
  await ended;
});
