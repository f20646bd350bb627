import { existsSync } from 'node:fs';
import { mkdir, readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox, startDaemon } from '../support/cli/command-line.ts';

/** The environment in which a process kills itself before it renames its n-th file. */
function dieBeforeRename(n: number): Record<string, string> {
  const preload = `
    import fs from 'node:fs/promises';
    import { syncBuiltinESMExports } from 'node:module';
    const { rename } = fs;
    let left = ${n};
    fs.rename = (...paths) => (--left === 0 ? process.kill(process.pid, 'SIGKILL') : rename(...paths));
    syncBuiltinESMExports();`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(preload)}` };
}

test('A backup is made, read back and restored by commands, each of which says what is missing, what is wrong and what comes next.', async () => {
  await using directory = await tempDir();
  const cwd = directory.path;
  const run = (...args: string[]) => signalbox(args, { cwd });
  await using _broker = await startDaemon(['broker', '--data', 'state', '--listen', '127.0.0.1:0'], { cwd });

  const first = await run('backup', 'without-journal', '--data', 'state', '--json');
  expect(jsonOf(first)).toMatchObject({
    directory: join(cwd, 'without-journal'),
    manifest: { files: [{ name: 'messages.db' }, { name: 'tokens.db' }, { name: 'audit.db' }] },
    journal_missing: expect.stringContaining('no orchestrator has run'),
  });
  await (await openSqliteJournal({ file: join(cwd, 'state', 'journal.db') }))[Symbol.asyncDispose]();
  const second = await run('backup', 'whole', '--data', 'state');
  expect(second).toMatchObject({ code: 0, stderr: '' });
  expect(second.stdout).toContain('journal.db');
  expect(second.stdout).toContain(`signalbox backup verify ${join(cwd, 'whole')}`);

  await writeFile(join(cwd, 'some.token'), 'some-token\n');
  const elsewhere = [
    '--url',
    'ws://192.0.2.1:7420',
    '--insecure',
    '--token-file',
    'some.token',
    '--agent',
    'operator',
  ];
  const remote = await run('backup', 'b', ...elsewhere);
  expect(remote).toMatchObject({ code: 2, stdout: '' });
  expect(remote.stderr).toContain('name an absolute path of its machine');
  expect(existsSync(join(cwd, 'b'))).toBe(false);

  const verified = await run('backup', 'verify', 'whole', '--json');
  expect(verified.code).toBe(0);
  expect(jsonOf(verified)).toMatchObject({ ok: true, problems: [], contents: { calls: 0, tokens: 1 } });
  const restored = await run('restore', 'whole', '--data', 'new');
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  expect(restored.stdout).toContain('are valid again');
  expect(restored.stdout).toContain(`signalbox up --data ${join(cwd, 'new')}`);

  const killed = await signalbox(['restore', 'whole', '--data', 'half'], { cwd, env: dieBeforeRename(4) });
  expect(killed.code).toBeNull();
  expect(existsSync(join(cwd, 'half', 'tokens.db'))).toBe(true);
  const onHalf = await run('broker', '--data', 'half', '--listen', '127.0.0.1:0', '--json');
  expect(jsonOf(onHalf)).toMatchObject({
    error: {
      code: 'bad_data_directory',
      message: expect.stringContaining('has not finished'),
      hint: expect.stringContaining('restore the backup again'),
    },
  });
  expect(existsSync(join(cwd, 'half', 'messages.db'))).toBe(false);

  await truncate(join(cwd, 'whole', 'tokens.db'), 100);
  const damaged = await run('backup', 'verify', 'whole');
  expect(damaged.code).toBe(1);
  expect(damaged.stdout).toContain('tokens.db has 100 bytes');
});

test('A backup that the broker wrote where the command does not find it is an error that says the cure, and is removed.', async () => {
  await using directory = await tempDir();
  const [of, here] = [join(directory.path, 'broker'), join(directory.path, 'here')];
  await mkdir(join(here, 'empty'), { recursive: true });
  await mkdir(of);
  await writeFile(join(of, 'signalbox.yaml'), 'mcpServers: {}\n');
  const data = join(directory.path, 'state');
  await using _up = await startDaemon(['up', '--data', data, '--listen', '127.0.0.1:0'], { cwd: of });
  const before = await readdir(of);
  // Each process has another directory under this name, as under the /tmp of a service.
  for (const name of ['copy', 'empty']) {
    const run = await signalbox(['backup', `/proc/self/cwd/${name}`, '--data', data], { cwd: here });
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toContain(
      `the broker wrote the backup to /proc/self/cwd/${name}, and it is not there`,
    );
    expect(run.stderr).toContain('/var/lib/signalbox-backups');
    await expect.poll(() => existsSync(join(of, name))).toBe(false);
  }
  expect(await readdir(of)).toEqual(before);
  expect(await signalbox(['backup', '/proc/self/cwd/copy', '--data', data], { cwd: of })).toMatchObject({
    code: 0,
  });
});
