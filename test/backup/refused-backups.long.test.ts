import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { beginBackup, finishBackup } from '@signalbox/client/operator/internal';
import { verifyBackup } from '@signalbox/daemon/backup';
import { startBrokerProcess, tempDir } from '@signalbox/testing';
import { describe, expect, test } from 'vitest';
import { operatorOf, refused, startAll } from '../support/backup/refused-backups.ts';

describe('a backup that is given up leaves nothing behind', () => {
  test('when the disk has no room for it, and its cause is told; messages flow on.', async () => {
    await using directory = await tempDir();
    const dataDir = join(directory.path, 'data');
    await using broker = await startBrokerProcess(dataDir);
    await using operator = await operatorOf(broker);
    const { token } = await operator.admin('token_issue', { agent: 'rosa', role: 'worker' });
    await using rosa = await connectBroker({ url: broker.url, token, agent: 'rosa' });
    const send = (id: string) => rosa.deliver({ to: 'rosa', kind: 'note', id, body: 'x'.repeat(200_000) });
    for (let n = 0; n < 20; n++) await send(`n${n}`);
    // No file of the process may grow beyond this: for SQLite that is a full disk. Its own files are written from their start again.
    execFileSync('prlimit', ['--pid', String(broker.pid), '--fsize=1000000:unlimited']);
    const path = join(directory.path, 'backup');
    await expect(beginBackup(operator, path)).rejects.toMatchObject(refused(`${path}/messages.db`));
    execFileSync('prlimit', ['--pid', String(broker.pid), '--fsize=unlimited:unlimited']);
    expect(existsSync(path)).toBe(false);
    await send('later');
    await beginBackup(operator, path);
    await finishBackup(operator, undefined);
    expect(await verifyBackup(path)).toMatchObject({ problems: [], contents: { messages: 21 } });
  });
});

describe('a backup that is not whole', () => {
  test('is one that the broker never finished.', async () => {
    await using t = await startAll();
    await beginBackup(t.operator, t.at('begun'));
    expect((await verifyBackup(t.at('begun'))).problems).toEqual([
      { file: 'manifest.json', problem: expect.stringContaining('never finished') },
    ]);
  });
});
