import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startTestBroker } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { broker, project } from '../support/cli/down.ts';

let site: Awaited<ReturnType<typeof project>>;
beforeAll(async () => {
  site = await project({ broker });
  await site.run('up', '--detach');
});
afterAll(() => site?.[Symbol.asyncDispose]());

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

test('A worker with a broken token file ends at once, with the file and the cure, and prints nothing of the token.', async () => {
  await site.run('token', 'issue', '--agent', 'rosa', '--role', 'tester', '--out', 'rosa.token');
  const file = join(site.cwd, 'rosa.token');
  const whole = readFileSync(file, 'utf8');
  const secret = whole.slice(whole.indexOf('~') + 1, whole.indexOf('\n'));
  const broken = {
    'is empty': '',
    'is cut in its second line': whole.slice(0, -5),
    'is cut: 9 of the 43 characters': whole.slice(0, whole.indexOf('\n') - 9),
    'is no text': Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 0xff, 0xfe]),
    'holds several tokens': `${whole}${whole}`,
  };
  // Each would wait for a broker for longer than the test may take.
  const started = (...options: string[]) =>
    site.run('worker', 'mcp', '--wait', '10m', '--token-file', 'rosa.token', ...options);
  for (const [fault, text] of Object.entries(broken)) {
    writeFileSync(file, text);
    const { code, stdout, stderr } = await started();
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`the token file rosa.token ${fault}`);
    expect(stderr).toContain('token issue --agent NAME --role ROLE --out rosa.token --force');
    expect(stderr).not.toContain(secret.slice(0, 8));
  }
  writeFileSync(file, whole.replaceAll('\n', '\r\n'));
  expect((await site.run('inbox', '--token-file', 'rosa.token')).stdout).toBe(
    'no messages are waiting for rosa\n',
  );
  rmSync(file);
  mkdirSync(file);
  expect((await started()).stderr).toContain('the token file rosa.token is a folder\n');
});

test('An operator who misspells an agent is told so, and an agent without anything has an empty list.', async () => {
  await site.run('token', 'issue', '--agent', 'iris', '--role', 'tester', '--out', 'iris.token');
  const about = (agent: string) => [
    ['inbox', '--of', agent],
    ['history', '--agent', agent],
    ['dead', '--inbox', agent],
    ['dead', 'retry', '--inbox', agent],
  ];
  for (const words of about('irsi')) {
    const { code, stdout, stderr } = await site.run(...words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain("no agent 'irsi' has a token or ever connected (did you mean 'iris'?)");
  }
  for (const words of about('iris')) expect(await site.run(...words)).toMatchObject({ code: 0 });
  const kinds = await site.run('audit', 'calls');
  expect(kinds).toMatchObject({ code: 2, stderr: expect.stringContaining("(did you mean 'call'?)") });
});
