import { expect, test, vi } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { plain } from '../support/cli/up.ts';
import { startWorkspace } from '../support/cli/workspace.ts';

const patient = { interval: 100 };

test('Children that are killed come back on the same port, and tools work again.', async () => {
  await using workspace = await startWorkspace(() => plain);
  const { broker, orchestrator } = workspace.ready;
  const agent = await workspace.agent('researcher-1', 'researcher');
  const look = ['tools', 'call', 'mcp_plain__look', '--timeout', '20s', '--json'];
  const first = await workspace.run(look, agent.env);
  expect(jsonOf(first)).toMatchObject({ result: { success: true, text: expect.stringMatching(/^\d+$/) } });
  for (const pid of [broker.pid, orchestrator.pid]) process.kill(pid, 'SIGKILL');
  await vi.waitFor(() => {
    expect(workspace.up.stderr()).toContain('the broker is back');
    expect(workspace.up.stderr()).toContain('the orchestrator is back');
  }, patient);
  await vi.waitFor(async () => {
    const again = await workspace.run(look, agent.env);
    expect(jsonOf(again)).toMatchObject({ result: { success: true, text: expect.stringMatching(/^\d+$/) } });
    expect(again.stdout).not.toBe(first.stdout);
  }, patient);
  expect(workspace.up.stderr()).toContain('the broker ended; starting it again');
  expect(workspace.up.stderr()).toContain('the orchestrator ended; starting it again');
});
