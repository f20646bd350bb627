import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { longTool, type OperatedSite, startOperatedSite } from '../support/cli/operating.ts';
import type { Workspace } from '../support/cli/workspace.ts';
import { explained } from '../support/orchestrator/explained-step.ts';

let site: OperatedSite;
let workspace: Workspace;
let researcher: { id: string; env: Record<string, string> };

beforeAll(async () => {
  site = await startOperatedSite();
  ({ workspace } = site);
  researcher = await workspace.agent('researcher-1', 'researcher');
});
afterAll(() => site?.[Symbol.asyncDispose]());

const operator = (...args: string[]) => workspace.run([...args, '--config', 'signalbox.yaml']);
const json = async (...args: string[]) => jsonOf(await operator(...args, '--json'));

test('up says what is renamed, hidden, missing and odd, and why.', () => {
  const { orchestrator } = workspace.ready;
  expect(orchestrator).toMatchObject({
    renamed: [
      { server: 'plain', tool: longTool, name: expect.stringMatching(/^mcp_plain__a_tool_\w+_[0-9a-f]{8}$/) },
    ],
    hidden: [{ name: 'mcp_hidden__whisper', server: 'hidden' }],
    problems: expect.arrayContaining([expect.objectContaining({ server: 'broken' })]),
    warnings: expect.arrayContaining([
      'mcp.json:1: mcpServers.imported.autoApprove: ignored: it tells the client whether to ask before calls; here roles decide',
    ]),
    roles: [{ role: 'researcher', tools: 2 }],
  });
  // A server that has not started may have any prompts.
  expect(orchestrator.warnings.filter((text: string) => text.includes('prompt'))).toEqual([
    "role 'researcher': 'mcp_plain__sum' matches no prompt; no prompts are known",
  ]);
});

test('servers is a table of all servers, and of one all that is known.', async () => {
  const [table, one, typo] = [
    await operator('servers'),
    await operator('servers', 'show', 'plain'),
    await operator('servers', 'show', 'plian'),
  ];
  expect(table.stdout.split('\n')[0]).toMatch(
    /^SERVER +STATE +TOOLS +RUNNING +WAITING +P50 +P95 +RESTARTS +CIRCUIT +CACHE +LAST ERROR$/,
  );
  const rows = table.stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3));
  expect(rows).toEqual(
    expect.arrayContaining([
      ['imported', 'ready', '1'],
      ['hidden', 'ready', '1'],
      ['broken', 'ejected', '0'],
      ['off', 'disabled', '0'],
      ['plain', 'ready', '3'],
    ]),
  );
  expect(table.stdout).toMatch(/^broken: .*; its last words: cannot open database$/m);
  expect(one.stdout).toMatch(/running +process \d+/);
  expect(one.stdout).toContain('    plain server with 3 tools');
  expect(typo).toMatchObject({ code: 2, stdout: '' });
  expect(typo.stderr).toContain("no server is named 'plian' (did you mean 'plain'?)");
});

test('tools explain names the rule, tools search finds by what a tool does, servers discover lists all and what failed.', async () => {
  const [allowed, refused, words, found, discovered] = [
    await json('tools', 'explain', 'researcher', 'mcp_plain__drop'),
    await operator('tools', 'explain', 'researcher', 'mcp_plain__ekko'),
    await operator('tools', 'explain', 'Researcher', 'x'),
    await workspace.run(['tools', 'search', 'answers', 'to', 'echo', '--json'], researcher.env),
    await operator('servers', 'discover', '--json'),
  ];
  expect(allowed).toMatchObject({ allowed: true, server: 'plain' });
  expect(allowed).toEqual(explained('allowlist', { rule: "roles.researcher.tools: 'mcp_plain__drop'" }));
  expect(refused).toMatchObject({ code: 2, stdout: expect.stringContaining('nearest: plain:echo') });
  expect(refused.stdout).toContain("tool 'plain:ekko' is not allowed for role 'researcher'");
  const hold = await operator('hold', '--tool', 'mcp_plain__ekko', '--reason', 'x');
  expect(hold).toMatchObject({ code: 2, stderr: expect.stringContaining("the nearest is 'plain:echo'") });
  const call = await operator('tools', 'call', 'plain:ekko', '{}');
  expect(call).toMatchObject({ code: 2, stderr: expect.stringContaining("there is no tool 'plain:ekko'") });
  const long = await operator('tools', 'call', `plain:${longTool}`, '{}');
  expect(long).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\n$/) });
  expect(words).toMatchObject({ code: 2, stderr: expect.stringContaining('the role comes first') });
  expect((jsonOf(found) as { tools: { name: string }[] }).tools[0]?.name).toBe('mcp_plain__echo');
  expect(discovered.code).toBe(1);
  expect(jsonOf(discovered)).toMatchObject({
    servers: expect.arrayContaining([
      {
        server: 'hidden',
        tools: [{ name: 'whisper', as: 'mcp_hidden__whisper', description: 'Answers to whisper.' }],
      },
      { server: 'broken', tools: [], error: expect.any(String) },
    ]),
  });
});

test('An agent may search, and nothing of what is the operator’s.', async () => {
  const commands = ['servers', 'servers stop plain', 'tools explain researcher x', 'servers discover'];
  for (const command of commands) {
    const run = await workspace.run([...command.split(' '), '--json'], researcher.env);
    expect(run.code).toBe(77);
    expect(jsonOf(run)).toMatchObject({ error: { code: 'permission_denied' } });
  }
});
