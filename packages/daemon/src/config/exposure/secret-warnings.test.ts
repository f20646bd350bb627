import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../read-config.ts';
import { secretWarnings } from './secret-warnings.ts';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'signalbox-secrets-'));
});
afterAll(() => rm(directory, { recursive: true }));

test('A secret that stands in a file that others may read is warned about with the fix, and one of a variable is not.', async () => {
  const file = join(directory, 'signalbox.yaml');
  const write = (key: string) =>
    writeFile(file, `mcpServers:\n  a: { command: x, env: { API_KEY: "${key}", ROOT: /home/rosa } }\n`);
  const warnings = () => secretWarnings(readConfig(file, { env: { KEY: 'hush-1234567' } }));
  await write('hush-1234567');
  await chmod(file, 0o644);
  expect(warnings()).toEqual([
    expect.stringMatching(/signalbox\.yaml holds a secret of mcpServers\.a.*chmod go-r/),
  ]);
  expect(warnings().join()).not.toContain('hush');
  await chmod(file, 0o600);
  expect(warnings()).toEqual([]);
  await chmod(file, 0o644);
  await write(['$', '{env:KEY}'].join(''));
  expect(warnings()).toEqual([]);
});

test('A secret that goes to another machine without encryption is warned about, and one that stays on this machine is not.', async () => {
  const file = join(directory, 'signalbox.yaml');
  const warningsFor = async (host: string) => {
    const auth = '{ type: bearer, token: hush-1234567 }';
    await writeFile(file, `mcpServers:\n  a: { url: "http://${host}:8080/mcp", auth: ${auth} }\n`);
    await chmod(file, 0o600);
    return secretWarnings(readConfig(file));
  };
  expect(await warningsFor('box.example')).toEqual([
    expect.stringContaining('go to box.example over http://'),
  ]);
  for (const own of ['localhost', '127.0.0.2', '[::1]']) expect(await warningsFor(own)).toEqual([]);
});

test('A secret of a webhook in a file that others may read is warned about.', async () => {
  const file = join(directory, 'signalbox.yaml');
  await writeFile(file, 'hooks:\n  ci: { to: rosa, signature: bearer, secret: hush-1234567890123456 }\n');
  await chmod(file, 0o644);
  const warnings = secretWarnings(readConfig(file));
  expect(warnings).toEqual([expect.stringContaining('holds a secret of hooks.ci')]);
  expect(warnings.join()).not.toContain('hush');
});

test('A password in the URL of a variable is a secret of the file, as it is one of the results of the server.', async () => {
  const file = join(directory, 'signalbox.yaml');
  await writeFile(
    file,
    'mcpServers:\n  a: { command: x, env: { DATABASE_URL: "postgres://rosa:hush-1234567@db.example/app" } }\n',
  );
  await chmod(file, 0o644);
  expect(secretWarnings(readConfig(file))).toEqual([
    expect.stringContaining('holds a secret of mcpServers.a'),
  ]);
});

test('Secrets that go to another machine over plain http are warned about.', async () => {
  const file = join(directory, 'signalbox.yaml');
  const server = (url: string) => `{ url: "${url}", auth: { type: bearer, token: "\${env:T}" } }`;
  await writeFile(
    file,
    `mcpServers:\n  far: ${server('http://h.example/mcp')}\n  near: ${server('http://127.0.0.1:1/mcp')}\n  safe: ${server('https://h.example/mcp')}\n  open: { url: "http://h.example/mcp" }\n`,
  );
  expect(secretWarnings(readConfig(file, { env: { T: 'hush-1234567' } }))).toEqual([
    expect.stringMatching(/^mcpServers\.far: its secrets go to h\.example over http:\/\//),
  ]);
});
