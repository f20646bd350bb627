import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';
import { packageOf, recordLoads } from '../support/cli/loaded-modules.ts';

const ofServers = ['@modelcontextprotocol/client', 'ajv', 'p-queue'];

test('A command that connects loads nothing that runs MCP servers.', async () => {
  await using directory = await tempDir();
  const { env, modules } = await recordLoads(directory.path);
  const { code } = await signalbox(['agents', '--data', directory.path], { env });
  expect(code).toBe(69);
  const loaded = new Set((await modules()).map(packageOf));
  expect(loaded).toContain('ws');
  expect(ofServers.filter((name) => loaded.has(name))).toEqual([]);
});

test('A command that is told where the broker is loads neither YAML nor the schemas of the configuration.', async () => {
  await using directory = await tempDir();
  const { env, modules } = await recordLoads(directory.path);
  await writeFile(join(directory.path, 'signalbox.yaml'), '{}');
  const options = { env, cwd: directory.path };
  expect((await signalbox(['agents', '--data', directory.path], options)).code).toBe(69);
  const loaded = await modules();
  expect(loaded.filter((url) => /\/config-schema\.ts$|\/node_modules\/yaml\//.test(url))).toEqual([]);
});

test('A command loads the words of no other, and the help those of all.', async () => {
  await using directory = await tempDir();
  const { env, modules } = await recordLoads(directory.path);
  const words = async (): Promise<number> =>
    (await modules()).filter((url) => /\/commands\/[a-z]+\.ts$/.test(url)).length;
  expect((await signalbox(['broker', '--help'], { env })).code).toBe(0);
  expect(await words()).toBe(1);
  expect((await signalbox(['--help'], { env })).code).toBe(0);
  const all = await readdir(new URL('../../apps/cli/src/commands', import.meta.url));
  expect(await words()).toBe(all.filter((name) => /^[a-z]+\.ts$/.test(name)).length);
});
