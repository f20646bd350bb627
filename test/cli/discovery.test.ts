import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, jsonOf, type Run, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { startWorkspace, type Workspace } from '../support/cli/workspace.ts';

let workspace: Workspace;
let below: string;

beforeAll(async () => {
  workspace = await startWorkspace(() =>
    JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state' },
      orchestrator: { id: 'tools-1' },
      roles: { researcher: { tools: ['*'] } },
    }),
  );
  below = join(workspace.directory, 'files', 'deep');
  await mkdir(below);
  await chmod(join(workspace.directory, 'signalbox.yaml'), 0o644);
  await chmod(join(workspace.directory, 'files'), 0o755);
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

function inFolderBelow(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  return signalbox(args, { cwd: below, env });
}

test('Below the folder of a configuration no command needs an option, and an agent’s token file needs none anywhere.', async () => {
  const issue = ['token', 'issue', '--agent', 'rosa', '--role', 'researcher'];
  const issued = await inFolderBelow([...issue, '--out', 'rosa.token']);
  expect(issued).toMatchObject({ code: 0, stdout: expect.stringContaining('written to rosa.token') });
  const rosa = ['--token-file', join(below, 'rosa.token'), '--json'];
  expect(jsonOf(await inFolderBelow(['tools', 'list', ...rosa]))).toMatchObject({ tools: [] });
  expect(jsonOf(await inFolderBelow(['agents', '--json']))).toMatchObject({
    agents: [expect.objectContaining({ agent: 'tools-1' })],
  });
  await using elsewhere = await tempDir();
  const away = { cwd: elsewhere.path, env: { HOME: elsewhere.path } };
  expect(jsonOf(await signalbox(['inbox', ...rosa], away))).toEqual({ messages: [] });
  const variable = { SIGNALBOX_CONFIG: join(workspace.directory, 'signalbox.yaml') };
  const byVariable = await signalbox(['servers', '--json'], { ...away, env: variable });
  expect(jsonOf(byVariable)).toEqual({ servers: [], holds: [] });
});

test('A file of SIGNALBOX_CONFIG that cannot be read is reported with the variable that names it.', async () => {
  const run = await inFolderBelow(['agents'], { SIGNALBOX_CONFIG: 'gone.yaml' });
  expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining('SIGNALBOX_CONFIG names this file') });
});

test('status says on one screen that all is fine, what is degraded, or that no broker runs.', async () => {
  const fine = await inFolderBelow(['status', '--json']);
  expect(fine.code).toBe(0);
  expect(jsonOf(fine)).toMatchObject({
    ok: true,
    broker: { dead_letters: 0, pending: 0, version: expect.any(String) },
    orchestrator: { name: 'tools-1', state: 'ready', servers: [] },
  });
  const degraded = await inFolderBelow(['status', '--orchestrator', 'tools-2']);
  expect(degraded).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("no orchestrator named 'tools-2'"),
  });
  await using stopped = await tempDir();
  await writeFile(join(stopped.path, 'operator.token'), `sbx_operator~${'x'.repeat(43)}\n`, { mode: 0o600 });
  const { code, stderr } = await inFolderBelow(['status', '--data', stopped.path]);
  expect(code).toBe(69);
  expect(stderr).toContain(`no broker runs on ${stopped.path}`);
});

test('A token file whose broker has moved says so.', async () => {
  await using elsewhere = await tempDir();
  const token = join(elsewhere.path, 'old.token');
  await writeFile(token, `sbx_rosa~${'x'.repeat(43)}\nunix:${elsewhere.path}/broker.sock\n`, { mode: 0o600 });
  const { code, stderr } = await inFolderBelow(['inbox', '--token-file', token]);
  expect(code).toBe(69);
  expect(stderr).toContain(`${token} holds this address; if the broker has moved`);
});

test('up prints commands without --config where they find the file by themselves.', async () => {
  await using directory = await tempDir();
  await writeFile(
    join(directory.path, 'signalbox.yaml'),
    'broker: { listen: "127.0.0.1:0", data: ./state }\n',
  );
  const up = spawn(process.execPath, signalboxArgv(['up', '--no-face']), {
    cwd: directory.path,
    env: cleanEnv(),
  });
  const ended = once(up, 'close');
  const lines: string[] = [];
  for await (const line of createInterface({ input: up.stdout })) {
    lines.push(line.trim());
    if (line.startsWith('Ctrl-C')) up.kill('SIGTERM');
  }
  await ended;
  expect(lines).toContain('signalbox token issue --agent worker-1 --role worker --out worker-1.token');
});

test('A printed command names the configuration where it is not found.', async () => {
  const config = join(workspace.directory, 'signalbox.yaml');
  const issue = ['token', 'issue', '--agent', 'walt', '--role', 'researcher', '--config', config];
  await using elsewhere = await tempDir();
  const { stdout } = await signalbox(issue, { cwd: elsewhere.path });
  expect(stdout).toContain(`signalbox tools list --token-file FILE --config ${config}`);
});
