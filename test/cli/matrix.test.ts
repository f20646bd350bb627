import { listHolds } from '@signalbox/client/operator';
import { expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';

test('The matrix shows which role may call which tool, and for which calls a person is asked; only operators see it. Tools have one name for people.', async () => {
  await using workspace = await startWorkspace();
  const place = ['--data', 'state'];
  const { code, stdout } = await workspace.run(['tools', 'matrix', '--server', 'files', ...place]);
  expect(code).toBe(0);
  const lines = stdout.split('\n').map((line) => line.split(/ {2,}/).map((cell) => cell.trim()));
  expect(lines[0]).toEqual(['TOOL', 'asker', 'clerk', 'researcher', 'sandbox']);
  const row = (tool: string): string[] | undefined => lines.find(([name]) => name === tool);
  expect(row('files:read_file')).toEqual(['files:read_file', 'yes', 'yes', 'yes', '-']);
  expect(row('files:read_multiple_files')).toEqual([
    'files:read_multiple_files',
    'may ask',
    'may ask',
    'yes',
    '-',
  ]);
  expect(row('files:write_file')).toEqual(['files:write_file', '-', '-', '-', '-']);
  expect(stdout).toContain('roles that are not listed may use none');
  const one = jsonOf(await workspace.run(['tools', 'matrix', '--roles', 'clerk', '--json', ...place]));
  expect(one).toMatchObject({ roles: ['clerk'], unlisted: false });
  expect((one as { tools: object[] }).tools).toContainEqual({
    tool: 'mcp_everything__echo',
    server: 'everything',
    own: 'echo',
    may: ['clerk'],
    asks: [],
    may_ask: [],
  });
  for (const [wrong, near] of [
    [['--roles', 'clark'], 'clerk'],
    [['--server', 'file'], 'files'],
  ] as const) {
    const refused = await workspace.run(['tools', 'matrix', ...wrong, ...place]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(near) });
  }
  // A tool that one server has needs no server's name, and is shown with it.
  const held = await workspace.run(['hold', '--tool', 'write_file', '--reason', 'look first', ...place]);
  expect(held).toMatchObject({ code: 0, stdout: expect.stringContaining("'files:write_file'") });
  const released = await workspace.run(['release', '--tool', 'write_file', ...place]);
  expect(released).toMatchObject({ code: 0, stdout: expect.stringContaining("'files:write_file'") });
  // A hold by the names on the wire is shown, found and recorded by those for people.
  const byWire = ['hold', '--tool', 'mcp_files__write_*', '--reason', 'x', ...place];
  expect((await workspace.run(byWire)).stdout).toContain("Tools 'files:write_*' are held");
  expect((await workspace.run(['holds', ...place])).stdout).toContain("tools 'files:write_*'");
  await using operator = await workspace.operator();
  expect(await listHolds(operator)).toMatchObject([{ name: 'mcp_files__write_*' }]);
  expect((await workspace.run(['release', '--tool', 'files:write_*', ...place])).code).toBe(0);
  const audit = (await workspace.run(['audit', ...place])).stdout;
  expect(audit).toMatch(/hold_placed +files:write_\*/);
  expect(audit).not.toContain('mcp_');
  const list = await workspace.run(['tools', 'list', '--role', 'clerk', ...place]);
  expect(list.stdout).toMatch(/^everything:echo /m);
  expect(list.stdout).not.toContain('mcp_');
  const { env } = await workspace.agent('ann', 'researcher');
  expect(await workspace.run(['tools', 'matrix'], env)).toMatchObject({ code: 77, stdout: '' });
});
