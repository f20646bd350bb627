import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox, startDaemon } from '../support/cli/command-line.ts';

test('A backup that the broker wrote where the command does not find it is an error that says the cure, and is removed.', async () => {
  await using directory = await tempDir();
  const [of, here] = [join(directory.path, 'broker'), join(directory.path, 'here')];
  await mkdir(join(here, 'empty'), { recursive: true });
  await mkdir(of);
  await writeFile(join(of, 'signalbox.yaml'), 'mcpServers: {}\n');
  const data = join(directory.path, 'state');
  await using _up = await startDaemon(['up', '--data', data, '--listen', '127.0.0.1:0'], { cwd: of });
  const before = await readdir(of);
  // Each process has another directory under this name, as under the /tmp of a service.
  for (const name of ['copy', 'empty']) {
    const run = await signalbox(['backup', `/proc/self/cwd/${name}`, '--data', data], { cwd: here });
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toContain(
      `the broker wrote the backup to /proc/self/cwd/${name}, and it is not there`,
    );
    expect(run.stderr).toContain('/var/lib/signalbox-backups');
    await expect.poll(() => existsSync(join(of, name))).toBe(false);
  }
  expect(await readdir(of)).toEqual(before);
  expect(await signalbox(['backup', '/proc/self/cwd/copy', '--data', data], { cwd: of })).toMatchObject({
    code: 0,
  });
});
