import { existsSync } from 'node:fs';
import {
  copyFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { beginBackup, finishBackup } from '@signalbox/client/operator/internal';
import { restoreBackup, verifyBackup } from '@signalbox/daemon/backup';
import { describe, expect, test, vi } from 'vitest';
import { operatorOf, refused, startAll } from '../support/backup/refused-backups.ts';

/** Changes one bit in the middle of a file. */
async function flipByte(file: string): Promise<void> {
  const content = await readFile(file);
  content[content.length >> 1]! ^= 1;
  await writeFile(file, content);
}

describe('a backup is refused', () => {
  test('into any directory but an absent or empty one outside the data directory, by anybody but the operator; all else stays as it was.', async () => {
    await using t = await startAll();
    const { broker, operator, at } = t;
    await mkdir(at('full'));
    await writeFile(at('full/mine'), 'mine');
    await mkdir(at('target'));
    await symlink(at('target'), at('link'));
    await symlink(at('data'), at('data-link'));
    await writeFile(at('file'), '');
    for (const [directory, message] of [
      [at('full'), 'is not empty'],
      [at('file'), 'is no directory'],
      [at('link'), 'is a symbolic link'],
      [at('data/inside'), 'is inside the data directory'],
      [at('data-link/inside'), 'is inside the data directory'],
      [at('data'), 'is inside the data directory'],
      [at('no/parent'), 'does not exist for the broker'],
      // Nobody makes directories there, not even root.
      ['/sys/signalbox-backup', '/var/lib/signalbox-backups'],
      ['relative', 'is no absolute path'],
    ] as const) {
      await expect(operator.admin('backup_begin', { directory }), directory).rejects.toMatchObject(
        refused(message),
      );
    }
    expect(await readFile(at('full/mine'), 'utf8')).toBe('mine');
    expect(await readdir(at('target'))).toEqual([]);
    expect(await readdir(at('.')).then((names) => names.sort())).toEqual([
      'data',
      'data-link',
      'file',
      'full',
      'link',
      'target',
    ]);
    await using worker = await connectBroker({
      url: broker.url,
      token: await broker.token('rosa'),
      agent: 'rosa',
    });
    await expect(worker.admin('backup_begin', { directory: at('b') })).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(operator.admin('backup_wait', {})).rejects.toMatchObject(refused('has begun no backup'));

    await beginBackup(operator, at('target'));
    await using second = await operatorOf(broker);
    await expect(second.admin('backup_begin', { directory: at('b') })).rejects.toMatchObject(
      refused('another backup'),
    );
    await expect(second.admin('backup_finish', {})).rejects.toMatchObject(refused('has begun no backup'));
    await finishBackup(operator, undefined);
    expect((await stat(at('target'))).mode & 0o777).toBe(0o700);
    for (const name of await readdir(at('target')))
      expect((await stat(join(at('target'), name))).mode & 0o777, name).toBe(0o600);
    await expect(beginBackup(second, at('target'))).rejects.toMatchObject(refused('holds a backup'));
    expect(await verifyBackup(at('target'))).toMatchObject({ problems: [] });
  });
});

describe('a backup that is given up leaves nothing behind', () => {
  test('when its connection ends, and when the broker stops.', async () => {
    await using t = await startAll();
    const { broker, operator, at } = t;
    await mkdir(at('there'));
    {
      await using leaving = await operatorOf(broker);
      await leaving.admin('backup_begin', { directory: at('there') });
    }
    await vi.waitFor(async () => expect(await readdir(at('there'))).toEqual([]));
    await operator.admin('backup_begin', { directory: at('new') });
    await broker.broker.stop();
    expect(existsSync(at('new'))).toBe(false);
  });
});

describe('a backup that is not whole', () => {
  test('is found by verify, which names the file, and is not restored.', async () => {
    await using t = await startAll();
    const { operator, at } = t;
    await beginBackup(operator, at('good'));
    await finishBackup(operator, undefined);
    const manifest = JSON.parse(await readFile(at('good/manifest.json'), 'utf8'));
    const files = new Map<string, { sha256: string }>(
      manifest.files.map((file: { name: string }) => [file.name, file]),
    );
    const withManifest = (change: object) => (path: string) =>
      writeFile(join(path, 'manifest.json'), JSON.stringify({ ...manifest, ...change }));
    let n = 0;
    for (const [file, problem, damage] of [
      ['tokens.db', 'bytes', (path: string) => truncate(join(path, 'tokens.db'), 4096)],
      ['messages.db', 'checksum', (path: string) => flipByte(join(path, 'messages.db'))],
      ['audit.db', "can't be read", (path: string) => rm(join(path, 'audit.db'))],
      [
        'tokens.db-wal',
        'is not in the manifest',
        (path: string) => writeFile(join(path, 'tokens.db-wal'), ''),
      ],
      ['manifest.json', 'is no JSON', (path: string) => writeFile(join(path, 'manifest.json'), '{')],
      ['manifest.json', 'is no manifest', withManifest({ format: 2 })],
      ['messages.db', 'is of the broker', withManifest({ broker_id: 'another' })],
      ['messages.db', 'is not in the manifest', withManifest({ files: [] })],
      [
        '../data/messages.db',
        'is no file of a backup',
        withManifest({
          files: [...manifest.files, { ...files.get('tokens.db'), name: '../data/messages.db' }],
        }),
      ],
    ] as const) {
      const path = at(`bad-${++n}`);
      await cp(at('good'), path, { recursive: true });
      await damage(path);
      const { problems, contents } = await verifyBackup(path);
      expect(problems, file).toContainEqual({ file, problem: expect.stringContaining(problem) });
      expect(contents).toBeUndefined();
      const restoring = restoreBackup({ backup: path, dataDir: at('restored'), revokeTokens: false, now: 0 });
      await expect(restoring).rejects.toMatchObject({
        code: 'backup_damaged',
        message: expect.stringContaining(file),
      });
      expect(existsSync(at('restored'))).toBe(false);
    }
    expect((await verifyBackup(at('data'))).problems).toMatchObject([{ file: 'manifest.json' }]);
    expect((await verifyBackup(at('nowhere'))).problems).toMatchObject([
      { file: 'manifest.json', problem: expect.stringContaining('there is no directory') },
    ]);
  });
});

test('A backup is restored into an absent or empty directory only, and nothing in another one is touched.', async () => {
  await using t = await startAll();
  const { operator, at } = t;
  await beginBackup(operator, at('good'));
  await finishBackup(operator, undefined);
  const restore = (dataDir: string) =>
    restoreBackup({ backup: at('good'), dataDir, revokeTokens: false, now: 0 });
  const before = await readFile(at('data/operator.token'));
  await expect(restore(at('data'))).rejects.toMatchObject({ code: 'restore_refused' });
  expect(await readFile(at('data/operator.token'))).toEqual(before);
  await expect(restore(at('good/inside'))).rejects.toMatchObject({ code: 'restore_refused' });
  await copyFile(at('good/audit.db'), at('file'));
  await expect(restore(at('file'))).rejects.toMatchObject({ code: 'restore_refused' });
  await mkdir(at('empty'));
  await restore(at('empty'));
  await restore(at('new/deep'));
  await expect(restore(at('empty'))).rejects.toMatchObject({ code: 'restore_refused' });
  for (const dataDir of [at('empty'), at('new/deep')]) {
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    expect((await readdir(dataDir)).sort()).toEqual([
      'audit.db',
      'lock.db',
      'messages.db',
      'messages.db.mark',
      'tokens.db',
    ]);
  }
});
