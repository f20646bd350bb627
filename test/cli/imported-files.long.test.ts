import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { everythingText, serverScript, startWorkspace, type Workspace } from '../support/cli/workspace.ts';

let workspace: Workspace;
let researcher: Record<string, string>;
let whole: string;
/** A file as a client writes it that keeps much else beside its servers. */
let client: { history: string[]; mcpServers: Record<string, object> };
const switchedOff = '{ "disabledMcpServers": ["off"] }';
const clientFile = () => join(workspace.directory, 'client.json');

beforeAll(async () => {
  workspace = await startWorkspace(async (directory) => {
    const args = [serverScript('@modelcontextprotocol/server-filesystem'), join(directory, 'files')];
    client = { history: ['a prompt'], mcpServers: { files: { command: process.execPath, args } } };
    whole = JSON.stringify(client, undefined, 2);
    await writeFile(join(directory, 'client.json'), whole.slice(0, -10));
    await mkdir(join(directory, '.copilot'));
    const copilot = {
      kept: { ...client.mcpServers.files, tools: ['read_text_file'] },
      off: { command: 'no-such-program' },
    };
    await writeFile(join(directory, '.copilot/mcp-config.json'), JSON.stringify({ mcpServers: copilot }));
    await writeFile(join(directory, '.copilot/settings.json'), switchedOff);
    const config = JSON.parse(everythingText());
    config.roles.researcher.tools.push('mcp_files__read_*');
    return JSON.stringify({ ...config, mcpConfig: ['client.json', 'gone.json', '.copilot/mcp-config.json'] });
  });
  ({ env: researcher } = await workspace.agent('researcher-1', 'researcher'));
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

/** Does something and returns what the log says until it says a text. */
async function logged(text: string, act: () => Promise<void>): Promise<string> {
  const since = workspace.up.stderr().length;
  await act();
  const log = () => workspace.up.stderr().slice(since);
  await vi.waitFor(() => expect(log()).toContain(text), { timeout: 30_000 });
  return log();
}

async function replace(text: string): Promise<void> {
  await writeFile(`${clientFile()}.new`, text);
  await rename(`${clientFile()}.new`, clientFile());
}

async function read(): Promise<string> {
  const argument = JSON.stringify({ path: join(workspace.directory, 'files', 'hello.txt') });
  const { stdout } = await workspace.run(
    ['tools', 'call', 'mcp_files__read_text_file', argument],
    researcher,
  );
  return stdout;
}

async function processOf(server: string): Promise<unknown> {
  const status = await workspace.run(['servers', 'show', server, '--json', '--config', 'signalbox.yaml']);
  return (jsonOf(status) as { server: { instances: { pid: number }[] } }).server.instances;
}

test('up starts beside damaged files of other clients, and says which ones; their servers come, stay and go with what these files say', async () => {
  const { servers, warnings } = workspace.ready.orchestrator;
  expect(servers).toMatchObject([
    { name: 'kept', state: 'ready' },
    { name: 'off', state: 'disabled' },
    { name: 'everything', state: 'ready' },
  ]);
  const leftOut = [
    'client.json:12: is half-written: it ends in the middle; signalbox.yaml names it in mcpConfig, and none of its servers is used',
    'gone.json: there is no such file; signalbox.yaml names it in mcpConfig, and none of its servers is used',
  ];
  expect(warnings).toEqual(expect.arrayContaining(leftOut));
  for (const warning of leftOut) expect(workspace.up.stderr().split(warning)).toHaveLength(2);
  const check = await workspace.run(['config', 'check']);
  expect(check).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('(left out: all of client.json, all of gone.json)'),
  });
  for (const warning of leftOut) expect(check.stderr).toContain(warning);

  const status = await workspace.run(['status', '--config', 'signalbox.yaml']);
  expect(status.code).toBe(0);
  for (const warning of leftOut) expect(status.stdout).toContain(`imports       ${warning}`);

  await logged('server added: files', () => writeFile(clientFile(), whole));
  expect(await read()).toContain('hello from a file');
  const process = await processOf('files');

  await logged('its servers stay as they were', () => writeFile(clientFile(), whole.slice(0, -2)));
  expect(await read()).toContain('hello from a file');
  const grown = { ...client, history: Array(20_000).fill('a long prompt, kept for ever') };
  await replace(JSON.stringify(grown));
  expect(await read()).toContain('hello from a file');
  expect(await processOf('files')).toEqual(process);

  const log = await logged('server removed: files', () =>
    replace(JSON.stringify({ ...grown, mcpServers: {} })),
  );
  expect(log).not.toContain('config_refused');
  expect(await readFile(clientFile(), 'utf8')).toContain('a long prompt');
});

test('The servers of Copilot are on and off as they were while it writes the file that says so.', async () => {
  const settings = join(workspace.directory, '.copilot/settings.json');
  const kept = await processOf('kept');
  const log = await logged('that it switches stay as they were', () =>
    writeFile(settings, switchedOff.slice(0, -3)),
  );
  expect(log).not.toContain('server removed');
  expect(await processOf('kept')).toEqual(kept);
  expect(await processOf('off')).toBe(0);
  await logged('servers changed: kept, off', () => writeFile(settings, switchedOff.replace('off', 'kept')));
});
