import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';

test.each([
  ['tools call', '$ signalbox tools call'],
  ['inbox', '$ signalbox inbox'],
  ['ps', '$ signalbox agents'],
])('The help of "%s" is printed on standard output, with an example.', async (command, example) => {
  const { code, stdout, stderr } = await signalbox([...command.split(' '), '--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(example);
  expect(stdout).toContain('--json');
});

test('The help has the commands in groups, and the options that name the broker last, as the help of each command does.', async () => {
  const headings = async (...argv: string[]) =>
    (await signalbox([...argv, '--help'])).stdout.match(/^\w.*:$/gm);
  const groups = ['Begin:', 'Agents:', 'Messages:', 'Tools:', 'You decide:', 'Look:', 'Data:'];
  const connection = expect.stringMatching(/^Connection/);
  expect(await headings()).toEqual(['Options:', ...groups, connection, 'Examples:']);
  expect(await headings('tail')).toEqual(['Options:', 'Connection:', 'Examples:']);
  expect(await headings('token', 'issue')).toEqual(['Options:', 'Connection:', 'Examples:']);
});

test.each([
  ['start', "did you mean 'up' or 'servers start'"],
  ['logs', "did you mean 'tail' or 'history'"],
  ['messages', "did you mean 'inbox', 'history' or 'tail'"],
  ['list', "did you mean 'agents' or 'tools list'"],
  ['run', "did you mean 'up' or 'worker run'"],
  ['stop', "did you mean 'down', 'hold' or 'servers stop'"],
  ['kill', "did you mean 'down' or 'hold'"],
  ['issue', "did you mean 'token issue'"],
  ['token create', "did you mean 'issue'"],
  ['tools lst', "did you mean 'list'"],
  ['hooks github', 'signalbox hooks show github'],
  ['tools list --token x', "did you mean '--token-file'"],
  ['tail -v -a x', "did you mean '--agent'"],
  ['dead --limitt 3', "did you mean '--limit'"],
  ['--data ./state status', 'it goes after a command, as in: signalbox up --data'],
  ['send --kind', "option '--kind <kind>' has no value"],
])('"%s" is wrong usage, and the answer names ours.', async (line, answer) => {
  const { code, stdout, stderr } = await signalbox(line.split(' '));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(answer);
});

test('A group of commands alone lists what it is about, with the options of its list.', async () => {
  await using workspace = await startWorkspace(() =>
    JSON.stringify({ broker: { listen: '127.0.0.1:0', data: './state' } }),
  );
  for (const group of ['token', 'dead', 'hooks', 'schedules', 'tools', 'resources', 'prompts']) {
    const [alone, list] = [
      await workspace.run([group, '--json']),
      await workspace.run([group, 'list', '--json']),
    ];
    expect({ group, ...alone }).toMatchObject({ group, code: 0, stderr: '' });
    expect(jsonOf(alone)).toEqual(jsonOf(list));
  }
  expect(await workspace.run(['clock'])).toMatchObject({ code: 0, stderr: '' });
  expect(await workspace.run(['config'])).toMatchObject({ code: 0, stderr: '' });
  expect((await workspace.run(['token', '--help'])).stdout).toContain('(default)');
});

test('An unknown command and an unknown option are answered with the nearest name and exit code 2.', async () => {
  const command = await signalbox(['tolos', 'list']);
  expect(command).toMatchObject({ code: 2, stdout: '' });
  expect(command.stderr).toContain("unknown command 'tolos' (did you mean 'tools'?)");
  const option = await signalbox(['tools', 'list', '--tokn-file', 'x']);
  expect(option).toMatchObject({ code: 2, stdout: '' });
  expect(option.stderr).toContain("unknown option '--tokn-file' (did you mean '--token-file'?)");
  expect(option.stderr).toContain('signalbox tools list --help');
  // A supervisor's own command is no command without the supervisor.
  const own = await signalbox(['up-plan', '{}']);
  expect(own).toMatchObject({ code: 2, stdout: '' });
  expect(own.stderr).toContain("unknown command 'up-plan'");
});

test('An argument that begins with a dash, a name without its option and a text without quotes are told where to go.', async () => {
  const mistaken = await signalbox(['tools', 'result', '-abc']);
  expect(mistaken).toMatchObject({ code: 2, stdout: '' });
  expect(mistaken.stderr).toContain('an argument that begins with - goes last, after --');
  const after = await signalbox(['tools', 'result', '--', '-abc']);
  expect(after.stderr).toContain('no token to connect with');
  const withoutDashes = await signalbox(['worker', 'run', '--agent', 'rosa', 'claude', '--version']);
  expect(withoutDashes).toMatchObject({ code: 2, stdout: '' });
  expect(withoutDashes.stderr).toContain("unknown option '--version'");
  expect(withoutDashes.stderr).toContain('goes last, after --');
  const name = await signalbox(['token', 'issue', 'rosa']);
  expect(name.stderr).toContain("if 'rosa' is an agent, write --agent rosa");
  const text = await signalbox(['ask', 'rosa', 'how', 'far']);
  expect(text.stderr).toContain('quote a text of several words');
  const seq = await signalbox(['dead', 'show', '-5']);
  expect(seq.stderr).toContain("argument 'seq' can't be '-5'. A sequence number is a whole number from 1");
});

test('An option without a value, as an unset variable leaves it, is refused before anything happens.', async () => {
  await using directory = await tempDir();
  const run = await signalbox(['broker', '--data', '', '--listen', '127.0.0.1:0'], { cwd: directory.path });
  expect(run).toMatchObject({ code: 2, stdout: '' });
  expect(run.stderr).toContain("option '--data <dir>' is empty");
  expect(await readdir(directory.path)).toEqual([]);
});

test('A missing argument, option or token file is named, and said to be missing.', async () => {
  await using directory = await tempDir();
  const stderrOf = async (...argv: string[]) => (await signalbox(argv, { cwd: directory.path })).stderr;
  expect(await stderrOf('send')).toContain("argument 'to' is missing");
  expect(await stderrOf('hold', '--all')).toContain("option '--reason <text>' is missing");
  const file = await stderrOf('send', 'rosa', 'hi', '--token-file', 'gone.token');
  expect(file).toContain('there is no token file gone.token');
  expect(file).toContain('signalbox token issue --agent NAME --role ROLE --out gone.token');
});

test('With --json a usage error is JSON on standard output.', async () => {
  const run = await signalbox(['token', 'issue', '--agent', 'a', '--json']);
  expect(run).toMatchObject({ code: 2, stderr: '' });
  expect(jsonOf(run)).toMatchObject({ error: { code: 'usage', message: expect.stringContaining('--role') } });
});

test('A group that has nothing to list shows its help on standard error and exits 2.', async () => {
  const { code, stdout, stderr } = await signalbox(['worker']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('signalbox worker mcp');
});

test('The help loads commander, our own words and the table of permissions, and none of what takes time.', async () => {
  await using directory = await tempDir();
  const preload = join(directory.path, 'loaded.mjs');
  const loaded = join(directory.path, 'loaded.txt');
  await writeFile(
    preload,
    `import { appendFileSync } from 'node:fs';
     import { registerHooks } from 'node:module';
     registerHooks({ resolve(name, context, next) {
       const found = next(name, context);
       appendFileSync(${JSON.stringify(loaded)}, found.url + '\\n');
       return found;
     } });`,
  );
  const { code } = await signalbox(['--help'], { env: { NODE_OPTIONS: `--import=${preload}` } });
  expect(code).toBe(0);
  const urls = (await readFile(loaded, 'utf8')).trim().split('\n');
  const ours = /^node:|\/apps\/cli\/|\/node_modules\/commander\/|\/protocol\/(src|dist)\/permissions\.[jt]s$/;
  const foreign = urls.filter((url) => !ours.test(url));
  expect(urls.length).toBeGreaterThan(10);
  expect(foreign).toEqual([]);
});
