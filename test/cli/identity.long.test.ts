import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

test('A broker that does not answer is exit code 69, with its url and the command that starts one.', async () => {
  await using directory = await tempDir();
  await writeFile(join(directory.path, 'operator.token'), `sbx_operator~${'x'.repeat(43)}\n`);
  const args = ['agents', '--url', 'ws://127.0.0.1:9', '--data', directory.path];
  const run = await signalbox(args);
  expect(run).toMatchObject({ code: 69, stdout: '' });
  expect(run.stderr).toContain("can't connect to ws://127.0.0.1:9: no broker answers there");
  expect(run.stderr).toContain('signalbox up');
  const json = await signalbox([...args, '--json']);
  expect(json.code).toBe(69);
  expect(jsonOf(json)).toMatchObject({ error: { code: 'unreachable', url: 'ws://127.0.0.1:9' } });
});

test('token issue --out warns of a file that git would commit, and is silent about one that it ignores.', async () => {
  await using broker = await startTestBroker();
  await using project = await tempDir();
  await promisify(execFile)('git', ['init', '--quiet'], { cwd: project.path });
  const issue = ['token', 'issue', '--agent', 'a-1', '--role', 'worker', '--data', broker.dataDir];
  const at = { cwd: project.path };
  const first = await signalbox([...issue, '--out', 'a.token'], at);
  expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('line *.token to .gitignore') });
  await writeFile(join(project.path, '.gitignore'), '*.token\n');
  expect(await signalbox([...issue, '--out', 'b.token'], at)).toMatchObject({ code: 0, stderr: '' });
});

test('token issue --out warns of a file that a hosted server could read.', async () => {
  await using broker = await startTestBroker();
  await using project = await tempDir();
  const server = { command: 'no-such-server', args: [project.path] };
  const config = {
    broker: { data: broker.dataDir },
    mcpServers: { files: server },
    roles: { worker: { tools: [] } },
  };
  await writeFile(join(project.path, 'signalbox.json'), JSON.stringify(config));
  const issue = ['token', 'issue', '--agent', 'a-1', '--role', 'worker', '--data', broker.dataDir];
  const { code, stderr } = await signalbox([...issue, '--out', 'a.token'], { cwd: project.path });
  expect(code).toBe(0);
  expect(stderr).toContain('mcpServers.files.args[0]');
  expect(stderr).toContain(
    'a.token, so anybody who may use the server can act with that token: write it to a folder',
  );
});

test('A person is told whose token is too little for a command, and an agent is not told how to act as somebody else.', async () => {
  await using broker = await startTestBroker();
  const file = join(broker.dataDir, 'ann.token');
  await writeFile(file, await broker.token('ann'), { mode: 0o600 });
  const hold = ['hold', '--all', '--reason', 'x', '--token-file', file, '--url', broker.url];
  const hint = `the role of the token in ${file} decides that; without --token-file,`;
  expect(await signalbox(hold)).toMatchObject({ code: 77, stderr: expect.stringContaining(hint) });
  const { stderr } = await signalbox(hold, { env: { SIGNALBOX_AGENT: 'ann' } });
  expect(stderr).toContain('this needs a token of an operator');
  expect(stderr).not.toContain('without --token-file');
});

test('An operator’s token has a name, and an observer’s shows agents and cannot revoke.', async () => {
  await using broker = await startTestBroker();
  const file = join(broker.dataDir, 'watch.token');
  const issue = ['token', 'issue', '--operator', '--name', 'watch', '--permissions', 'observer'];
  const issued = await signalbox([...issue, '--expires', '30d', '--out', file, '--data', broker.dataDir]);
  expect(issued.stdout).toContain('for agent operator.watch in role observer');
  const at = ['--token-file', file, '--url', broker.url, '--json'];
  expect(jsonOf(await signalbox(['token', 'list', ...at]))).toMatchObject({
    tokens: expect.arrayContaining([
      expect.objectContaining({ agent: 'operator.watch', permissions: ['observer'] }),
    ]),
  });
  expect((await signalbox(['token', 'revoke', 'x', ...at])).code).toBe(77);
});

test('A minting token issues tokens under its pattern, and for no other name.', async () => {
  await using broker = await startTestBroker();
  const file = join(broker.dataDir, 'ci.token');
  const mint = ['token', 'issue', '--agent', 'ci-*', '--role', 'ci', '--out', file, '--data', broker.dataDir];
  const minted = await signalbox(mint);
  expect(minted.code).toBe(0);
  // The command that it proposes reaches the same broker.
  expect(minted.stdout).toContain(`--token-file ${file}\n`);
  expect(await readFile(file, 'utf8')).toMatch(/^sbx_ci-\*~.*\nunix:.*broker\.sock\n$/);
  const at = ['--role', 'ci', '--token-file', file, '--url', broker.url, '--json'];
  expect(jsonOf(await signalbox(['token', 'issue', '--agent', 'ci-7', ...at]))).toMatchObject({
    agent: 'ci-7',
    role: 'ci',
  });
  expect((await signalbox(['token', 'issue', '--agent', 'prod-7', ...at])).code).toBe(77);
});

test('A token that cannot be written where --out says is revoked, and no copy of it stays behind.', async () => {
  await using broker = await startTestBroker();
  const folder = join(broker.dataDir, 'folder');
  await mkdir(folder);
  // The broker writes its samples meanwhile.
  const files = async () => (await readdir(broker.dataDir)).filter((name) => !name.startsWith('samples'));
  const before = await files();
  const args = ['token', 'issue', '--agent', 'a-1', '--role', 'worker', '--out', folder, '--force'];
  const at = ['--data', broker.dataDir, '--json'];
  expect((await signalbox([...args, ...at])).code).toBe(2);
  expect(await files()).toEqual(before);
  const { tokens } = jsonOf(await signalbox(['token', 'list', ...at])) as { tokens: { agent: string }[] };
  expect(tokens.map(({ agent }) => agent)).not.toContain('a-1');
});

test('A revoked token is exit code 77, and so is an agent that asks for what only the operator may.', async () => {
  await using broker = await startTestBroker();
  const at = ['--data', broker.dataDir, '--json'];
  const issued = jsonOf(await signalbox(['token', 'issue', '--agent', 'a-1', '--role', 'worker', ...at])) as {
    id: string;
    token: string;
  };
  const env = { SIGNALBOX_TOKEN: issued.token, SIGNALBOX_URL: broker.url };
  expect(jsonOf(await signalbox(['inbox', '--json'], { env }))).toEqual({ messages: [] });
  const forbidden = await signalbox(['token', 'list', '--json'], { env });
  expect(forbidden.code).toBe(77);
  expect(jsonOf(forbidden)).toMatchObject({ error: { code: 'forbidden' } });

  const revoked = await signalbox(['token', 'revoke', issued.id, ...at]);
  expect(jsonOf(revoked)).toEqual({ id: issued.id, revoked: true });
  const refused = await signalbox(['inbox', '--json'], { env });
  expect(refused.code).toBe(77);
  expect(jsonOf(refused)).toMatchObject({ error: { code: 'unauthorized' } });
});

test('A token for another agent than --agent names is refused with 77.', async () => {
  await using broker = await startTestBroker();
  const file = join(broker.dataDir, 'a.token');
  const issue = [
    'token',
    'issue',
    '--agent',
    'a-1',
    '--role',
    'worker',
    '--out',
    file,
    '--data',
    broker.dataDir,
  ];
  expect((await signalbox(issue)).code).toBe(0);
  const at = ['--token-file', file, '--url', broker.url, '--json'];
  expect((await signalbox(['inbox', ...at])).code).toBe(0);
  expect((await signalbox(['inbox', '--agent', 'b-1', ...at])).code).toBe(77);
});
