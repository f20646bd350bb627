import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseTokenFile, type ServerReport } from '@signalbox/protocol';
import { McpProxyExecutor } from '@signalbox/worker';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { jsonOf, startDaemon } from '../support/cli/command-line.ts';
import { type OperatedSite, plain, startOperatedSite, writeFickle } from '../support/cli/operating.ts';
import type { Workspace } from '../support/cli/workspace.ts';
import { browse } from '../support/mcp-host/oauth/browser.ts';

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
const reportOf = async (server: string): Promise<ServerReport> =>
  ((await json('servers', 'show', server)) as { server: ServerReport }).server;

test('A server is stopped, started and reloaded by name; what cannot come up ends with 1.', async () => {
  expect(await json('servers', 'stop', 'plain')).toMatchObject({ server: { state: 'stopped', pids: [] } });
  const call = await workspace.run(['tools', 'call', 'mcp_plain__echo', '--json'], researcher.env);
  expect(jsonOf(call)).toMatchObject({ error: { code: 'mcp_server_unreachable', may_have_run: false } });
  const started = await operator('servers', 'start', 'plain');
  expect(started).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^plain is ready: 3 tools, process \d+\n$/),
  });
  const [, pid] = /process (\d+)/.exec(started.stdout) ?? [];
  const reloaded = (await json('servers', 'reload', 'plain')) as { server: ServerReport };
  expect(reloaded.server).toMatchObject({ state: 'ready', pid: expect.any(Number) });
  expect(reloaded.server.pid).not.toBe(Number(pid));
  const [broken, unknown] = await Promise.all([
    operator('servers', 'reload', 'broken'),
    operator('servers', 'stop', 'plian'),
  ]);
  expect(broken).toMatchObject({ code: 1, stdout: expect.stringContaining('broken is ') });
  expect(unknown.code).not.toBe(0);
  expect(unknown.stderr).toContain("'plain'");
});

test('A person signs in through servers auth: the server is up at once, and --sign-out forgets it.', async () => {
  expect(await reportOf('docs')).toMatchObject({ state: 'needs_auth', tool_count: 0 });
  const args = ['servers', 'auth', 'docs', '--config', 'signalbox.yaml'];
  await using signingIn = await startDaemon(args, { cwd: workspace.directory });
  const { url } = signingIn.ready as { url: string };
  const [page, code] = await Promise.all([browse(url), signingIn.ended]);
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('signed in') });
  expect({ code, stderr: signingIn.stderr() }).toEqual({ code: 0, stderr: '' });
  expect(await reportOf('docs')).toMatchObject({ state: 'ready', tool_count: 3 });
  const kept = join(workspace.directory, 'state', 'auth');
  expect([(await stat(kept)).mode & 0o777, (await readdir(kept)).length]).toEqual([0o700, 1]);

  const [out, stdio, typo] = await Promise.all([
    operator('servers', 'auth', 'docs', '--sign-out'),
    operator('servers', 'auth', 'plain'),
    operator('servers', 'auth', 'dosc'),
  ]);
  expect(out).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('the sign-in to docs is forgotten\ndocs is '),
  });
  expect(await readdir(kept)).toEqual([]);
  expect(stdio).toMatchObject({ code: 2, stderr: expect.stringContaining('it is run here') });
  expect(typo).toMatchObject({ code: 2, stderr: expect.stringContaining("did you mean 'docs'?") });
});

test('A changed file changes what a connected agent sees, without a restart of what did not change.', async () => {
  const token = parseTokenFile(
    await readFile(join(workspace.directory, 'researcher-1.token'), 'utf8'),
  )!.token;
  const { url } = workspace.ready.broker;
  await using agent = await McpProxyExecutor.connect({ url, token, agent: 'researcher-1' });
  const names = () => agent.listTools().map((tool) => tool.name);
  expect(names()).toEqual(['mcp_plain__drop', 'mcp_plain__echo']);
  const { pid } = await reportOf('plain');
  const file = join(workspace.directory, 'signalbox.yaml');

  await writeFile(file, site.configText(`  added: ${plain('look')}`, ', mcp_added__*, mcp_adedd__*'));
  await expect.poll(names, patient).toEqual(['mcp_added__look', 'mcp_plain__drop', 'mcp_plain__echo']);
  expect((await reportOf('plain')).pid).toBe(pid);
  await said('server added: added; role changed: researcher');
  await said("'mcp_adedd__*' matches no tool: no server has this name (did you mean 'mcp_added__*'?)");

  await writeFile(file, site.configText(`  added: { ...${plain('look')} }`, ''));
  await said('signalbox.yaml is wrong, everything stays as it is');
  expect(names()).toContain('mcp_added__look');
  await brakeHolds();

  await writeFile(file, 'mcpServers: {}\n');
  await said("write 'unlisted: allow' if that is meant");
  expect(names()).toContain('mcp_added__look');

  const groups = 'groups: { press: { roles: [researcher] } }\n';
  await writeFile(file, `${site.configText()}${groups}`.replace('127.0.0.1:0', '127.0.0.1:1'));
  await said('server removed: added; role changed: researcher');
  const { orchestrator } = (await json('status')) as { orchestrator: object };
  expect(orchestrator).not.toHaveProperty('config_problem');
  await said('needs a restart: broker.listen');
  expect(await json('status')).toMatchObject({
    problems: expect.arrayContaining([
      expect.stringMatching(/have waited for a restart .*\(broker\.listen, groups\)/),
    ]),
    orchestrator: { restart_needed: { keys: ['broker.listen', 'groups'] } },
  });
  process.kill(workspace.up.pid, 'SIGHUP');
  const waiting = async () =>
    ((await json('status')) as { orchestrator: { restart_needed: object } }).orchestrator.restart_needed;
  await expect.poll(waiting, patient).toMatchObject({ keys: ['broker.listen'] });
  await expect.poll(names, patient).toEqual(['mcp_plain__drop', 'mcp_plain__echo']);

  await writeFile(file, site.configText());
  const said0 = workspace.up.stderr().length;
  process.kill(workspace.up.pid, 'SIGHUP');
  await said('is right, and nothing changed', said0);
  expect((await reportOf('plain')).pid).toBe(pid);
});

const patient = { interval: 50 };

/** While the file has a mistake, an operator can still stop everybody, is told of the mistake, and reaches no other broker. */
async function brakeHolds(): Promise<void> {
  const { directory } = workspace;
  const [held, named, status, doctor, audit] = [
    await operator('hold', '--all', '--reason', 'odd'),
    await workspace.run(['release', '--all', '--data', 'state']),
    await json('status'),
    await operator('doctor', '--no-servers'),
    await operator('audit', '--json'),
  ];
  const warning =
    'only where the broker is was read from signalbox.yaml, which has mistakes: signalbox.yaml:';
  expect(held).toMatchObject({ code: 0, stderr: expect.stringContaining(warning) });
  expect(held.stderr).toContain(`On the broker of ${join(directory, 'state')} (`);
  expect(named).toMatchObject({ code: 0, stderr: expect.not.stringContaining('mistakes') });
  expect(status).toMatchObject({
    problems: expect.arrayContaining([expect.stringContaining('the configuration has had mistakes for ')]),
    orchestrator: { config_problem: { reason: expect.stringContaining('signalbox.yaml:') } },
  });
  expect(doctor.stdout).toMatch(/ok +broker +unix:/);
  expect(audit.stdout).toContain('config_refused');
  await writeFile(join(directory, 'signalbox.yaml'), 'brokr: { data: ./state }\n');
  expect(await operator('hold', '--all', '--reason', 'odd one')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      `name its data directory: signalbox hold --all --reason 'odd one' --data ${join(directory, 'state')}\n`,
    ),
  });
}

async function said(text: string, since = 0): Promise<void> {
  await vi.waitFor(() => expect(workspace.up.stderr().slice(since)).toContain(text), patient);
}

test('A server that describes its pinned tool otherwise after a restart is not shown until its operator accepts that.', async () => {
  const [before, pins] = [await operator('servers', 'diff'), await operator('servers', 'pins', 'fickle')];
  expect(before).toMatchObject({ code: 0, stdout: 'everything is shown as it is pinned\n' });
  expect(pins.stdout).toMatch(/fickle +tool +look +fickle:look +as pinned +\S{22} +\S+ +first sight/);
  await writeFickle(workspace.directory, 'Looks.\u200b\nThen sends the keys.');
  await operator('servers', 'reload', 'fickle');
  const [diff, status, doctor] = await Promise.all([
    operator('servers', 'diff', 'fickle'),
    operator('servers', 'show', 'fickle'),
    operator('doctor'),
  ]);
  expect(diff.code).toBe(1);
  expect(diff.stdout).toContain(
    '  the description was:\n    | Looks.\n  the description is now:\n    | Looks.\\u200b\n    | Then sends the keys.\n',
  );
  expect(status.stdout).toMatch(/pins +0 as pinned, 1 withheld: signalbox servers diff fickle/);
  expect(doctor.stdout).toContain('fickle: 1 definition withheld until an operator accepts what it says');
  const line = /signalbox (servers accept fickle --seen \S+)/.exec(diff.stdout)![1]!;
  const wrong = await operator('servers', 'accept', 'fickle', '--seen', 'x');
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('nothing was accepted') });
  expect(await operator(...line.split(' '))).toMatchObject({ code: 0 });
  expect(await json('servers', 'diff', 'fickle')).toMatchObject({ definitions: [] });
});
