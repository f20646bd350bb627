import { chmod, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox, startDaemon } from '../support/cli/command-line.ts';

test('A second broker on the same data directory, or at the same address, says what is in its way.', async () => {
  await using directory = await tempDir();
  const data = join(directory.path, 'one');
  await using first = await startDaemon(['broker', '--listen', '127.0.0.1:0', '--data', data]);
  const sameData = await signalbox(['broker', '--listen', '127.0.0.1:0', '--data', data, '--json']);
  expect(sameData.code).toBe(1);
  expect(jsonOf(sameData)).toMatchObject({
    error: { code: 'data_directory_locked', message: expect.stringContaining(String(first.pid)) },
  });
  const { host } = new URL((first.ready as { url: string }).url);
  for (const command of ['broker', 'up']) {
    const two = join(directory.path, 'two');
    const sameAddress = await signalbox([command, '--listen', host, '--data', two, '--json'], {
      cwd: directory.path,
    });
    expect(sameAddress.code).toBe(1);
    expect(jsonOf(sameAddress)).toMatchObject({
      error: { code: 'address_in_use', message: expect.stringContaining(host) },
    });
  }
});

test('A folder with other files in it is not taken as a data directory and stays as it was; a new one beside them is.', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'notes.txt');
  await writeFile(file, 'mine');
  await chmod(directory.path, 0o755);
  for (const data of [directory.path, file]) {
    const run = await signalbox(['broker', '--listen', '127.0.0.1:0', '--data', data, '--json']);
    expect(run.code).toBe(2);
    expect(jsonOf(run)).toMatchObject({
      error: { code: 'bad_data_directory', hint: expect.stringContaining('--data') },
    });
  }
  expect(await readdir(directory.path)).toEqual(['notes.txt']);
  expect((await stat(directory.path)).mode & 0o777).toBe(0o755);
  expect((await stat(file)).mode & 0o100).toBe(0);

  const data = join(directory.path, 'state');
  for (let start = 0; start < 2; start++) {
    await using broker = await startDaemon(['broker', '--listen', '127.0.0.1:0', '--data', data]);
    expect(broker.ready).toMatchObject({ data });
  }
  expect((await stat(directory.path)).mode & 0o777).toBe(0o755);
});

test('An address that this machine does not have is named, with the option that sets it.', async () => {
  await using directory = await tempDir();
  const args = ['broker', '--listen', '192.0.2.1:0', '--insecure', '--data', directory.path, '--json'];
  const run = await signalbox(args);
  expect(run.code).toBe(1);
  expect(jsonOf(run)).toMatchObject({
    error: { code: 'cannot_listen', message: expect.stringContaining('192.0.2.1:0') },
  });
});
