import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectBroker, requestAddress } from '@signalbox/client';
import { queryOrchestrator, readManifest } from '@signalbox/client/operator';
import { expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';

const server = fileURLToPath(new URL('../browser/screenshots/scene-server.ts', import.meta.url));

/** A tool whose server says whether it only reads. */
const tool = (name: string, readOnlyHint?: boolean) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object' },
  ...(readOnlyHint !== undefined && { annotations: { readOnlyHint } }),
});

test('A role by annotations has the read-only tools of pinned servers alone, and what its server adds or changes when a person has accepted it.', async () => {
  let place = '';
  const write = (name: string, tools: object[]) =>
    writeFile(join(place, `${name}.json`), JSON.stringify(tools));
  const hosted = (name: string, more = {}) => ({
    command: process.execPath,
    args: [server, join(place, `${name}.json`), name],
    ...more,
  });
  await using workspace = await startWorkspace(async (directory) => {
    place = directory;
    await write('notes', [tool('read', true), tool('erase'), tool('lie', false)]);
    await write('loose', [tool('read', true)]);
    return JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state' },
      orchestrator: { definitions: 'pin' },
      mcpServers: {
        notes: hosted('notes'),
        loose: hosted('loose', { definitions: 'follow' }),
        absent: { command: process.execPath, args: ['-e', 'process.exit(1)'] },
      },
      roles: { reader: { tools: [{ annotations: 'readOnly' }] }, builder: { tools: ['*'] } },
    });
  });
  const operator = (...args: string[]) => workspace.run([...args, '--data', 'state']);
  await using client = await workspace.operator();
  const listed = async (): Promise<string[]> => {
    const { tools = [] } = await readManifest(client, 'orchestrator', { role: 'reader' });
    return tools.map(({ name }) => name);
  };
  const ann = await workspace.agent('ann', 'reader');
  const token = (await readFile(ann.env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const { url } = workspace.ready.broker;
  await using reader = await connectBroker({ url, token, agent: requestAddress('ann') });
  /** Calls a tool, and resolves with the reply as text. */
  const call = async (tool: string): Promise<string> => {
    const asked = { op: 'call', tool, arguments: {} };
    const outcome = await reader.request('orchestrator', 'mcp_request', asked, { timeoutMs: 60_000 });
    return JSON.stringify(outcome.status === 'completed' ? outcome.reply.json : outcome);
  };
  const list = await operator('tools', 'list', '--role', 'reader', '--json');
  expect(jsonOf(list)).toMatchObject({ tools: [{ name: 'mcp_notes__read' }] });
  expect(await call('mcp_notes__read')).toContain('"result"');
  for (const name of ['mcp_notes__lie', 'mcp_loose__read'])
    expect(await call(name), name).toContain('is not allowed');
  expect(await call('mcp_absent__read')).toContain("server 'absent' has not listed its tools yet");
  const why = await operator('tools', 'explain', 'reader', 'loose:read');
  expect(why.stdout).toContain('definitions: pin');
  const checked = await workspace.run(['config', 'check', '--config', 'signalbox.yaml']);
  expect(checked.stdout + checked.stderr).toContain('annotations give no tool of loose');

  // The server grants itself rights: a tool turns read-only, and a new one says so, too.
  await write('notes', [tool('read', true), tool('erase', true), tool('lie', false), tool('more', true)]);
  const reload = () => queryOrchestrator(client, 'orchestrator', { op: 'reload', server: 'notes' });
  await reload();
  expect(await listed()).toEqual(['mcp_notes__read']);
  expect(await call('mcp_notes__more')).not.toContain('"result"');
  const builder = await workspace.agent('bea', 'builder');
  const told = await workspace.run(['tools', 'call', 'notes:erase', '{}'], builder.env);
  expect(told.stderr).toContain('has changed its definition');
  const changed = await operator('tools', 'explain', 'builder', 'notes:erase');
  expect(changed.stdout).toContain('withheld: its definition has changed');
  const diff = await operator('servers', 'diff');
  const [, seen = ''] = /--seen (\S+)/.exec(diff.stdout) ?? [];
  expect(await operator('servers', 'accept', 'notes', '--seen', seen)).toMatchObject({ code: 0 });
  expect((await listed()).toSorted()).toEqual(['mcp_notes__erase', 'mcp_notes__more', 'mcp_notes__read']);
  expect(await workspace.run(['tools', 'call', 'notes:erase', '{}'], ann.env)).toMatchObject({ code: 0 });

  // What is read-only no more is withheld, too.
  await write('notes', [tool('read', true), tool('erase', false), tool('more', true)]);
  await reload();
  expect((await listed()).toSorted()).toEqual(['mcp_notes__more', 'mcp_notes__read']);
  const matrix = jsonOf(await operator('tools', 'matrix', '--json')) as {
    tools: { tool: string; may: string[] }[];
  };
  expect(matrix.tools.map(({ tool: name, may }) => [name, may])).toEqual([
    ['mcp_loose__read', ['builder']],
    ['mcp_notes__more', ['builder', 'reader']],
    ['mcp_notes__read', ['builder', 'reader']],
  ]);
});
