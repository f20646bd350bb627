import { expect, test, vi } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';
import { isRunning } from '../support/processes.ts';

const patient = { timeout: 20_000, interval: 100 };

test('SIGINT stops the orchestrator and the broker, and up exits 0.', async () => {
  await using workspace = await startWorkspace();
  const { broker, orchestrator } = workspace.ready;
  expect([broker.pid, orchestrator.pid].map(isRunning)).toEqual([true, true]);
  expect(await workspace.up.stop('SIGINT')).toBe(0);
  expect([broker.pid, orchestrator.pid].map(isRunning)).toEqual([false, false]);
});

test('Children that are killed come back on the same port, and tools work again.', async () => {
  await using workspace = await startWorkspace();
  const { broker, orchestrator } = workspace.ready;
  const agent = await workspace.agent('researcher-1', 'researcher');
  const echo = ['tools', 'call', 'mcp_everything__echo', '{"message":"again"}', '--timeout', '20s', '--json'];
  expect((await workspace.run(echo, agent.env)).code).toBe(0);
  for (const pid of [broker.pid, orchestrator.pid]) process.kill(pid, 'SIGKILL');
  await vi.waitFor(async () => {
    const run = await workspace.run(echo, agent.env);
    expect(jsonOf(run)).toMatchObject({ result: { success: true, text: expect.stringContaining('again') } });
  }, patient);
  expect(workspace.up.stderr()).toContain('the broker ended; starting it again');
  expect(workspace.up.stderr()).toContain('the orchestrator ended; starting it again');
});

test('After kill -9 of up itself its children end by themselves.', async () => {
  await using workspace = await startWorkspace();
  const { broker, orchestrator } = workspace.ready;
  await workspace.up.stop('SIGKILL');
  await vi.waitFor(
    () => expect([broker.pid, orchestrator.pid].map(isRunning)).toEqual([false, false]),
    patient,
  );
});
