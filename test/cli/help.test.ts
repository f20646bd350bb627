import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

test.each([
  ['tools call', '$ signalbox tools call'],
  ['ps', '$ signalbox agents'],
])('The help of "%s" is printed on standard output, with an example.', async (command, example) => {
  const { code, stdout, stderr } = await signalbox([...command.split(' '), '--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(example);
  expect(stdout).toContain('--json');
});

test('A wrong line ends the process with exit code 2, and an argument after -- is none.', async () => {
  const command = await signalbox(['tolos', 'list']);
  expect(command).toMatchObject({ code: 2, stdout: '' });
  expect(command.stderr).toContain("unknown command 'tolos' (did you mean 'tools'?)");
  const after = await signalbox(['tools', 'result', '--', '-abc']);
  expect(after.stderr).toContain('no token to connect with');
});

test('A group of commands alone is its list.', async () => {
  await using broker = await startTestBroker();
  const at = ['--data', broker.dataDir, '--json'];
  const [alone, list] = [await signalbox(['token', ...at]), await signalbox(['token', 'list', ...at])];
  expect(alone).toMatchObject({ code: 0, stderr: '' });
  expect(jsonOf(alone)).toEqual(jsonOf(list));
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
  expect(await stderrOf('send')).toContain("argument 'to' and argument 'text' are missing");
  expect(await stderrOf('send', 'rosa')).toContain("argument 'text' is missing");
  expect(await stderrOf('servers', 'accept')).toContain(
    "argument 'server' and option '--seen <hash>' are missing",
  );
  expect(await stderrOf('hold')).toContain(
    "no option says what is held; option '--reason <text>' is missing",
  );
  expect(await stderrOf('send', 'rosa', 'hi', '--kind', 'Bad', '--id', 'x y')).toMatch(
    /--kind 'Bad' .*; --id 'x y' /,
  );
  const file = await stderrOf('send', 'rosa', 'hi', '--token-file', 'gone.token');
  expect(file).toContain('there is no token file gone.token');
  expect(file).toContain('signalbox token issue --agent NAME --role ROLE --out gone.token');
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
