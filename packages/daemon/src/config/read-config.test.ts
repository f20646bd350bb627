// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from './read-config.ts';

test('A path that begins with ~ lies in the home of the user, as in a shell, and not in a folder of that name.', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-config-'));
  const file = join(directory.path, 'signalbox.yaml');
  await writeFile(
    file,
    'broker: { data: ~/state }\nmcpServers: { a: { command: ~/bin/run }, b: { command: x, cwd: "~" } }',
  );
  const { broker, mcpServers } = readConfig(file);
  expect(broker.data).toBe(join(homedir(), 'state'));
  expect(mcpServers).toEqual({
    a: { type: 'stdio', command: join(homedir(), 'bin', 'run'), cwd: directory.path },
    b: { type: 'stdio', command: 'x', cwd: homedir() },
  });
});

test('Entries become what the MCP host takes, each with paths relative to the file it stands in.', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-config-'));
  const at = (...names: string[]) => join(directory.path, ...names);
  await mkdir(at('team'));
  await writeFile(
    at('team', 'mcp.json'),
    '{ "mcpServers": { "a": { "command": "./run", "env": { "K": "${file:key}" } }, "b": { "command": "x", "cwd": ".." } } }',
  );
  await writeFile(at('team', 'key'), 'hush\n');
  await writeFile(
    at('signalbox.yaml'),
    `mcpConfig: team/mcp.json
mcpServers:
  c:
    { type: streamable-http, url: "https://c.test/mcp", tool_discovery: false, lazy: true, card: ./c.json,
      share: role, keepAliveMs: 0, auth: { type: bearer, token: "\${env:T}" }, neverRepeat: ["*"] }
capabilities: ./capabilities
`,
  );
  const files: string[] = [];
  const config = readConfig(at('signalbox.yaml'), { env: { T: 't' }, onFile: (path) => files.push(path) });
  expect(config.mcpServers).toEqual({
    a: {
      type: 'stdio',
      command: at('team', 'run'),
      env: { K: 'hush' },
      cwd: at('team'),
      secrets: { 'env.K': ['hush'] },
    },
    b: { type: 'stdio', command: 'x', cwd: directory.path },
    c: {
      secrets: { 'auth.token': ['t'] },
      type: 'http',
      url: 'https://c.test/mcp',
      auth: { type: 'bearer', token: 't' },
      share: 'role',
      lazy: true,
      keepAliveMs: 0,
      toolDiscovery: false,
      card: at('c.json'),
    },
  });
  expect(config).toMatchObject({ serverRepeat: { c: { never: ['*'] } }, capabilities: [at('capabilities')] });
  expect(files).toEqual([at('signalbox.yaml'), at('team', 'mcp.json'), at('team', 'key')]);
});

test('If one server is wanted, the secrets of the others may be missing.', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-config-'));
  const file = join(directory.path, 'signalbox.yaml');
  await writeFile(file, 'mcpServers: { a: { command: "${env:NONE}" }, b: { command: x } }');
  expect(Object.keys(readConfig(file, { env: {}, onlyServer: 'b' }).mcpServers)).toEqual(['b']);
  expect(() => readConfig(file, { env: {} })).toThrow('the environment variable NONE is not set');
});

test('The limits of all servers hold where the entry of a server sets none.', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-config-'));
  const file = join(directory.path, 'signalbox.yaml');
  const perServer = 'orchestrator: { limits: { perServer: { tools: 10, toolBytes: 1024 } } }';
  const servers = 'mcpServers: { a: { command: x, limits: { tools: 20 } }, b: { command: x } }';
  await writeFile(file, `${perServer}\n${servers}\n`);
  const { mcpServers } = readConfig(file, { env: {} });
  expect(mcpServers.a?.limits).toEqual({ tools: 20, toolBytes: 1024 });
  expect(mcpServers.b?.limits).toEqual({ tools: 10, toolBytes: 1024 });
});
