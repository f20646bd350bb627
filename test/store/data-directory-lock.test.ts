import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lockDataDirectory } from '@signalbox/store/internal';
import { programOptions, tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';

it('makes a private directory, says who holds it, and lets the next one in afterwards', async () => {
  await using parent = await tempDir();
  const directory = join(parent.path, 'deep', 'data');
  {
    await using _lock = await lockDataDirectory(directory, { startedAt: 7 });
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, 'lock.db')).mode & 0o777).toBe(0o600);
    const holder: unknown = JSON.parse(readFileSync(join(directory, 'holder.json'), 'utf8'));
    expect(holder).toEqual({ pid: process.pid, startedAt: 7 });
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(lockDataDirectory(directory)).rejects.toMatchObject({
        code: 'data_directory_locked',
        message: expect.stringContaining(`process ${process.pid}`),
      });
    }
  }
  expect(existsSync(join(directory, 'holder.json'))).toBe(false);
  await using again = await lockDataDirectory(directory);
  expect(again).toBeDefined();
});

it('keeps other processes out until the holder dies, however it dies', async () => {
  await using directory = await tempDir();
  const holder = await startHolder(directory.path);
  await expect(lockDataDirectory(directory.path)).rejects.toMatchObject({
    code: 'data_directory_locked',
    message: expect.stringContaining(`process ${holder.pid}`),
  });
  await kill(holder);
  expect(existsSync(join(directory.path, 'holder.json'))).toBe(true);
  await using lock = await lockDataDirectory(directory.path);
  expect(lock).toBeDefined();
});

it('goes by the lock alone, not by what a file says', async () => {
  await using directory = await tempDir();
  writeFileSync(join(directory.path, 'holder.json'), JSON.stringify({ pid: process.pid }));
  await using _lock = await lockDataDirectory(directory.path);
  writeFileSync(join(directory.path, 'holder.json'), 'damaged');
  await expect(lockDataDirectory(directory.path)).rejects.toMatchObject({
    code: 'data_directory_locked',
    message: expect.stringContaining('another process'),
  });
});

it('makes the lock file anew when there is anything in it, and keeps others out all the same', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'lock.db');
  for (const garbage of ['garbage', 'SQLite format 3\u0000garbage', 'x'.repeat(5000)]) {
    writeFileSync(file, garbage);
    const { ino } = statSync(file);
    const holder = await startHolder(directory.path);
    expect(statSync(file)).toMatchObject({ ino, size: 0 });
    const isLocked = {
      code: 'data_directory_locked',
      message: expect.stringContaining(`process ${holder.pid}`),
    };
    await expect(lockDataDirectory(directory.path)).rejects.toMatchObject(isLocked);
    writeFileSync(file, garbage);
    await expect(lockDataDirectory(directory.path)).rejects.toMatchObject(isLocked);
    await kill(holder);
    await using lock = await lockDataDirectory(directory.path);
    expect(lock).toBeDefined();
  }
});

it('notices that the lock file was removed under its holder', async () => {
  await using directory = await tempDir();
  const holder = await startHolder(directory.path);
  rmSync(join(directory.path, 'lock.db'));
  await expect(lockDataDirectory(directory.path)).rejects.toMatchObject({
    code: 'data_directory_locked',
    message: expect.stringContaining(`process ${holder.pid} held it`),
  });
  await kill(holder);
  await using lock = await lockDataDirectory(directory.path);
  expect(lock).toBeDefined();
});

async function startHolder(directory: string): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('../support/store/lock-holder-main.ts', import.meta.url));
  const child = spawn(process.execPath, [...programOptions(), program, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
