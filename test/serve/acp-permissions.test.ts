import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, shown } from '../support/serve/acp-permissions.ts';
import { type AcpStage, startAcpStage } from '../support/serve/acp-stage.ts';
import { type ServedAcp, serveAcp } from '../support/serve/served-acp.ts';

const ask = ['--permissions', 'ask'];
let stage: AcpStage;
let served: ServedAcp;

beforeAll(async () => {
  stage = await startAcpStage();
  served = await serveAcp(stage.workspace, 'rosa', { args: [...ask, '--concurrency', '4'] });
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

test('A person approves a use of a tool by the command line, and sees what the agent told of it before and with its question.', async () => {
  const steps = [
    call('t1', { name: 'Bash', rawInput: { command: 'make' } }),
    { ask: { toolCallId: 't1', kind: 'execute' } },
    { heard: true },
  ];
  const asked = stage.ask('rosa', steps);
  const [question] = await stage.waiting('rosa');
  expect(question).toMatchObject({ tool: 'agent:Bash', role: 'researcher' });
  expect(shown(question!)).toEqual({ title: 'make', kind: 'execute', arguments: { command: 'make' } });
  await expect
    .poll(async () => (await stage.command('ps')).stdout, { interval: 250 })
    .toMatch(/^rosa .* working 1, waits for a person/m);
  const { stdout } = await stage.command('approve', question!.id);
  expect(stdout).toContain('approved');
  // Never for longer than one use.
  expect(await asked).toBe('heard id-allow_once');
});

test('Two questions of a turn are decided each for itself, and a fourth waits until one of three is decided.', async () => {
  const questions = [1, 2, 3, 4].map((at) => ({ toolCallId: `t${at}`, name: `T${at}`, rawInput: { at } }));
  const asked = stage.ask('rosa', [{ ask: questions }, { heard: true }]);
  const three = await stage.waiting('rosa', 3);
  const [last, , first] = three;
  await stage.decide(first!.id, { verdict: 'deny', reason: 'no' });
  await expect.poll(async () => (await stage.waiting('rosa', 3))[0]?.id).not.toBe(last!.id);
  for (const { id } of await stage.waiting('rosa', 3)) await stage.decide(id, { verdict: 'approve' });
  expect(await asked).toBe('heard id-reject_once id-allow_once id-allow_once id-allow_once');
});
