import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf, type Run, signalbox } from '../support/cli/command-line.ts';
import { startAboveFolder } from '../support/cli/discovery.ts';
import type { Workspace } from '../support/cli/workspace.ts';

let workspace: Workspace;
let below: string;

beforeAll(async () => {
  ({ workspace, below } = await startAboveFolder());
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

function inFolderBelow(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  return signalbox(args, { cwd: below, env });
}

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
  const calls = await inFolderBelow(['tools', 'calls', '--orchestrator', 'tools-2']);
  expect(calls.stderr).toContain('signalbox up starts a dead one again in a moment');
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
