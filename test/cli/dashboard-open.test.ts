import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';

const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';

test('dashboard --open opens its link in a browser, and other users see it neither in an argument nor in a file.', async () => {
  await using broker = await startTestBroker();
  await using directory = await tempDir();
  const seen = join(directory.path, 'seen');
  const program = join(directory.path, opener);
  await writeFile(program, `#!/bin/sh\nprintf %s "$1" > '${seen}'\n`);
  await chmod(program, 0o755);
  const env = { PATH: `${directory.path}${delimiter}${process.env.PATH}`, TMPDIR: directory.path };
  const { code, stdout } = await signalbox(['dashboard', '--open', '--data', broker.dataDir], { env });
  const link = stdout.trim();
  const file = await readFile(seen, 'utf8');
  expect([code, file.includes(link)]).toEqual([0, false]);
  expect(await readFile(file, 'utf8')).toContain(`url=${link}"`);
  expect((await stat(file)).mode & 0o077).toBe(0);
  await writeFile(program, '#!/bin/sh\nexit 3\n');
  const failed = await signalbox(['dashboard', '--open', '--data', broker.dataDir], { env });
  expect([failed.code, failed.stdout.includes('/ui/#code=')]).toEqual([0, true]);
  expect(failed.stderr).toContain(`no browser was opened: ${opener} ended with 3`);
});

test('dashboard --open does not wait for a browser that the opener itself became.', async () => {
  await using broker = await startTestBroker();
  await using directory = await tempDir();
  const pidFile = join(directory.path, 'pid');
  const program = join(directory.path, opener);
  await writeFile(program, `#!/bin/sh\necho $$ > '${pidFile}'\nexec tail -f /dev/null\n`);
  await chmod(program, 0o755);
  const env = { PATH: `${directory.path}${delimiter}${process.env.PATH}`, TMPDIR: directory.path };
  const opened = await signalbox(['dashboard', '--open', '--data', broker.dataDir], { env });
  const pid = Number(await readFile(pidFile, 'utf8'));
  // It throws if the browser has ended.
  process.kill(pid, 'SIGKILL');
  expect([opened.code, opened.stdout.includes('/ui/#code=')]).toEqual([0, true]);
  expect(opened.stderr).not.toContain('no browser');
});
