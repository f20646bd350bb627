import { chmod, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox, startDaemon } from '../support/cli/command-line.ts';
import { packageOf, recordLoads } from '../support/cli/loaded-modules.ts';

const ofServers = ['@modelcontextprotocol/client', 'ajv', 'p-queue'];
const costly = ['yaml', 'NativeModule internal/deps/undici/undici', ...ofServers];

test('A broker without a configuration starts without what it does not need then, which a file makes it load.', async () => {
  await using directory = await tempDir();
  const { env, modules } = await recordLoads(directory.path);
  const loaded = async (): Promise<Set<string>> => new Set((await modules()).map(packageOf));
  const args = ['broker', '--listen', '127.0.0.1:0', '--data', join(directory.path, 'state')];
  const options = { env, cwd: directory.path };
  await using bare = await startDaemon(args, options);
  await bare.stop();
  const without = await loaded();
  expect(without).toContain('ws');
  expect(costly.filter((name) => without.has(name))).toEqual([]);

  await writeFile(join(directory.path, 'signalbox.yaml'), 'broker: { durability: process }\n');
  await using configured = await startDaemon(args, options);
  await configured.stop();
  const withFile = await loaded();
  expect(costly.filter((name) => withFile.has(name))).toEqual(['yaml']);
});

test('Compiled code is kept in a folder of the user alone, and not in one that others may write to.', async () => {
  await using directory = await tempDir();
  const folder = join(directory.path, 'signalbox');
  const env = { XDG_CACHE_HOME: directory.path, NODE_COMPILE_CACHE: '' };
  expect((await signalbox(['--version'], { env })).code).toBe(0);
  const [compiled] = await readdir(folder);
  expect(compiled).toMatch(/^v\d/);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  // Code that was compiled under other options would be compiled anew by each in turn.
  expect((await signalbox(['up', '--help'], { env })).code).toBe(0);
  expect(await readdir(folder)).toHaveLength(2);

  await rm(folder, { recursive: true });
  await mkdir(folder);
  await chmod(folder, 0o770);
  expect((await signalbox(['--version'], { env })).code).toBe(0);
  expect(await readdir(folder)).toEqual([]);
});

test('A host in a folder without a configuration is refused, with the file to write.', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'lab.token');
  await writeFile(file, `sbx_orchestrator.lab~${'x'.repeat(43)}\n`, { mode: 0o600 });
  const args = ['orchestrator', '--host', 'lab', '--url', 'ws://127.0.0.1:1', '--token-file', file];
  const refused = await signalbox(args, { cwd: directory.path, env: { HOME: directory.path } });
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toMatch(
    /there is no signalbox\.yaml here, .*, so host lab has no MCP servers to serve\n {2}write signalbox\.yaml here, as in mcpServers: /,
  );
});
