import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox, startDaemon } from '../support/cli/command-line.ts';

/** Writes down the packages and the built-in modules that a process has loaded when it ends. */
const recorder = `
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({
  load(url, context, next) {
    loaded.add(/node_modules\\/(?!.*node_modules\\/)((@[^/]+\\/)?[^/]+)/.exec(url)?.[1] ?? url);
    return next(url, context);
  },
});
process.on('exit', () => writeFileSync(process.env.LOADED, [...loaded, ...process.moduleLoadList].join('\\n')));
`;

async function recording(
  directory: string,
): Promise<{ env: Record<string, string>; loaded: () => Promise<string[]> }> {
  const [hook, list] = [join(directory, 'hook.mjs'), join(directory, 'loaded.txt')];
  await writeFile(hook, recorder);
  return {
    env: { NODE_OPTIONS: `--import=${pathToFileURL(hook)}`, LOADED: list },
    loaded: async () => (await readFile(list, 'utf8')).split('\n'),
  };
}

const ofServers = ['@modelcontextprotocol/client', 'ajv', 'p-queue'];
const costly = ['yaml', 'NativeModule internal/deps/undici/undici', ...ofServers];

test('A broker without a configuration starts without what it does not need then, which a file makes it load.', async () => {
  await using directory = await tempDir();
  const { env, loaded } = await recording(directory.path);
  const args = ['broker', '--listen', '127.0.0.1:0', '--data', join(directory.path, 'state')];
  const options = { env, cwd: directory.path };
  await using bare = await startDaemon(args, options);
  await bare.stop();
  const without = await loaded();
  expect(without).toContain('ws');
  expect(without.filter((name) => costly.includes(name))).toEqual([]);

  await writeFile(join(directory.path, 'signalbox.yaml'), 'broker: { durability: process }\n');
  await using configured = await startDaemon(args, options);
  await configured.stop();
  expect((await loaded()).filter((name) => costly.includes(name))).toEqual(['yaml']);
});

test('A command that connects loads nothing that runs MCP servers.', async () => {
  await using directory = await tempDir();
  const { env, loaded } = await recording(directory.path);
  const { code } = await signalbox(['agents', '--data', directory.path], { env });
  expect(code).toBe(69);
  expect((await loaded()).filter((name) => ofServers.includes(name))).toEqual([]);
});

test('A command loads the words of no other, and the help those of all.', async () => {
  await using directory = await tempDir();
  const { env, loaded } = await recording(directory.path);
  const words = async (): Promise<number> =>
    (await loaded()).filter((url) => /\/commands\/[a-z]+\.ts$/.test(url)).length;
  expect((await signalbox(['broker', '--help'], { env })).code).toBe(0);
  expect(await words()).toBe(1);
  expect((await signalbox(['--help'], { env })).code).toBe(0);
  const all = await readdir(new URL('../../apps/cli/src/commands', import.meta.url));
  expect(await words()).toBe(all.filter((name) => /^[a-z]+\.ts$/.test(name)).length);
});
