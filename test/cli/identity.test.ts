import { writeFileSync } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

test('Without a token nothing connects: exit code 2 and the ways to get one.', async () => {
  const { code, stderr } = await signalbox(['agents', '--url', 'ws://127.0.0.1:9']);
  expect(code).toBe(2);
  expect(stderr).toContain('no token to connect with');
  expect(stderr).toContain('--token-file');
});

test('The operator token in the data directory is used, but never in a shell that is an agent’s.', async () => {
  await using broker = await startTestBroker();
  const args = ['agents', '--data', broker.dataDir, '--json'];
  const operator = await signalbox(args);
  expect(operator.code).toBe(0);
  expect(jsonOf(operator)).toMatchObject({ agents: [], offline: [] });
  const agent = await signalbox(args, { env: { SIGNALBOX_AGENT: 'researcher-1' } });
  expect(agent.code).toBe(2);
  expect(jsonOf(agent)).toMatchObject({
    error: { code: 'usage', message: expect.stringContaining('the operator token is left alone') },
  });
});

test('token issue --out writes a private file and replaces only a token, with --force.', async () => {
  await using broker = await startTestBroker();
  const file = join(broker.dataDir, 'made', 'a.token');
  await mkdir(join(broker.dataDir, 'made'));
  const issue = ['token', 'issue', '--agent', 'a-1', '--role', 'worker', '--ttl', '8h', '--out', file];
  const at = ['--data', broker.dataDir, '--json'];
  const first = jsonOf(await signalbox([...issue, ...at]));
  expect(first).toEqual({
    id: expect.any(String),
    agent: 'a-1',
    role: 'worker',
    expires_at: expect.any(Number),
    file,
    warnings: [],
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const text = await readFile(file, 'utf8');

  const again = await signalbox([...issue, ...at]);
  expect(again.code).toBe(2);
  expect(await readFile(file, 'utf8')).toBe(text);
  expect(jsonOf(await signalbox(['token', 'list', ...at]))).toMatchObject({
    tokens: expect.toSatisfy(
      (tokens: { agent: string }[]) => tokens.filter(({ agent }) => agent === 'a-1').length === 1,
    ),
  });

  expect((await signalbox([...issue, '--force', ...at])).code).toBe(0);
  expect(await readFile(file, 'utf8')).not.toBe(text);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const settings = join(broker.dataDir, 'config.toml');
  writeFileSync(settings, 'model = "small"\n');
  const other = await signalbox([...issue.slice(0, -1), settings, '--force', ...at]);
  expect(jsonOf(other)).toMatchObject({
    error: { code: 'usage', message: `${settings} holds something else than a token` },
  });
  expect(await readFile(settings, 'utf8')).toBe('model = "small"\n');
});
