import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { cleanEnv, jsonOf, signalbox, signalboxArgv } from '../support/cli/command-line.ts';

const namedToolsServer = fileURLToPath(new URL('../support/cli/named-tools-server.ts', import.meta.url));

async function place() {
  const directory = await tempDir();
  const { path } = directory;
  await writeFile(join(path, 'signalbox.yaml'), 'broker: { data: ./state, listen: "127.0.0.1:0" }\n');
  return { directory, path, env: { HOME: path, PATH: '' } };
}

test('On a good set-up doctor prints a line for each check and one summary, and exits with 0.', async () => {
  const { directory, path, env } = await place();
  await using _ = directory;
  const { code, stdout, stderr } = await signalbox(['doctor'], { cwd: path, env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.slice(0, -2).every((line) => line.startsWith('ok '))).toBe(true);
  expect(lines.slice(-2)).toEqual(['', 'all is fine: 14 checks']);
});

test('doctor says on standard error that it starts the servers, and how long that may take.', async () => {
  const { directory, path, env } = await place();
  await using _ = directory;
  const server = { command: process.execPath, args: [namedToolsServer, 'echo'] };
  await writeFile(
    join(path, 'signalbox.yaml'),
    JSON.stringify({ broker: { data: './state', listen: '127.0.0.1:0' }, mcpServers: { server } }),
  );
  const { stdout, stderr } = await signalbox(['doctor'], { cwd: path, env });
  expect(stderr).toContain('starting 1 MCP server, up to 60 s …\n');
  expect(stdout).toContain('server started and listed 1 tool');
});

test('On a broken set-up doctor exits with 1; with --json the findings are a list, each with its fix.', async () => {
  const { directory, path, env } = await place();
  await using _ = directory;
  await mkdir(join(path, 'state'));
  await writeFile(join(path, 'state', 'thesis.tex'), '');
  const run = await signalbox(['doctor', '--json'], { cwd: path, env });
  expect(run.code).toBe(1);
  expect(jsonOf(run)).toMatchObject({ ok: false, failed: 1, warnings: 0 });
  expect((jsonOf(run) as { checks: unknown[] }).checks).toContainEqual({
    check: 'data',
    status: 'failed',
    text: `${join(path, 'state')} holds other files and no data of a broker`,
    fix: expect.stringContaining('--data'),
  });
});

test('A process that may open few files is warned of, which is no failure.', async () => {
  const { directory, path, env } = await place();
  await using _ = directory;
  const argv = ['--nofile=512:512', process.execPath, ...signalboxArgv(['doctor'])];
  const stdout = await new Promise<string>((resolve, reject) => {
    execFile(
      'prlimit',
      argv,
      { cwd: path, env: cleanEnv({ ...env, PATH: process.env.PATH ?? '' }) },
      (error, out) => (error ? reject(error) : resolve(out)),
    );
  });
  expect(stdout).toMatch(/^warning {2}descriptors +a process may open 512 files and sockets/m);
  expect(stdout).toContain('\n0 failed, 1 warning\n');
});
