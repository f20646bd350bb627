import fs from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { WalSync } from './wal-sync.ts';

/** Opens a log that counts its syncs: the most at one time, and all. */
async function openLog() {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-log-'));
  const file = join(directory, 'messages.db');
  fs.writeFileSync(`${file}-wal`, '');
  const { fdatasync } = fs;
  const ran = { atOnce: 0, most: 0, all: 0 };
  fs.fdatasync = Object.assign(
    (handle: number, done: fs.NoParamCallback) => {
      ran.all++;
      ran.most = Math.max(ran.most, ++ran.atOnce);
      fdatasync(handle, (error) => {
        ran.atOnce--;
        done(error);
      });
    },
    { __promisify__: fdatasync.__promisify__ },
  );
  syncBuiltinESMExports();
  const log = new WalSync(file);
  return {
    log,
    ran,
    async [Symbol.asyncDispose]() {
      await log.close();
      fs.fdatasync = fdatasync;
      syncBuiltinESMExports();
      await rm(directory, { recursive: true });
    },
  };
}

it('runs one sync at a time, and one for all who came while it ran', async () => {
  await using opened = await openLog();
  const { log, ran } = opened;
  const first = log.sync().then(() => log.sync());
  const others = [log.sync(), log.sync(), log.sync()];
  await Promise.all([first, ...others]);
  expect(ran).toEqual({ atOnce: 0, most: 1, all: 2 });
  await log.sync();
  expect(ran.all).toBe(3);
});

it('fails for good once a sync failed', async () => {
  await using opened = await openLog();
  const { log } = opened;
  const { fdatasync } = fs;
  fs.fdatasync = Object.assign(
    (_: number, done: fs.NoParamCallback) => setImmediate(done, new Error('EIO: i/o error')),
    { __promisify__: fdatasync.__promisify__ },
  );
  syncBuiltinESMExports();
  const failed = { code: 'store_failed', message: expect.stringContaining('EIO: i/o error') };
  const together = [log.sync(), log.sync()];
  for (const sync of together) await expect(sync).rejects.toMatchObject(failed);
  fs.fdatasync = fdatasync;
  syncBuiltinESMExports();
  await expect(log.sync()).rejects.toMatchObject(failed);
  expect(() => log.check()).toThrow(/EIO/);
  expect(() => log.syncNow()).toThrow(/EIO/);
});

it('does not take a sync for a success that ended while another one failed', async () => {
  await using opened = await openLog();
  const { log } = opened;
  const { fdatasyncSync } = fs;
  const running = log.sync();
  fs.fdatasyncSync = () => {
    throw new Error('EIO: i/o error');
  };
  syncBuiltinESMExports();
  expect(() => log.syncNow()).toThrow(/EIO/);
  fs.fdatasyncSync = fdatasyncSync;
  syncBuiltinESMExports();
  await expect(running).rejects.toThrow(/EIO/);
});
