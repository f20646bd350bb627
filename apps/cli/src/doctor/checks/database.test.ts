import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { sizeFindings } from './database.ts';

test('The doctor warns of a large database that is mostly free and stays so, and of a log that somebody keeps.', () => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-sizes-'));
  const freed = (name: string, begin: string): string => {
    const file = join(folder, name);
    const db = new DatabaseSync(file);
    db.exec(`${begin}; CREATE TABLE t (c BLOB); INSERT INTO t VALUES (zeroblob(70000000)); DELETE FROM t`);
    db.close();
    return file;
  };
  try {
    const [fixed, shrinking] = [freed('fixed.db', ''), freed('new.db', 'PRAGMA auto_vacuum = INCREMENTAL')];
    const found = sizeFindings([fixed, shrinking]);
    expect(found).toMatchObject([{ status: 'warning', fix: expect.stringContaining('VACUUM') }]);
    expect(found[0]!.text).toMatch(/^99 % of the 66\.8 MiB of \S+fixed\.db are free/);
    writeFileSync(`${shrinking}-wal`, '');
    truncateSync(`${shrinking}-wal`, 100_000_000);
    expect(sizeFindings([shrinking])).toMatchObject([
      { status: 'warning', text: expect.stringContaining('new.db-wal has grown to 95.4 MiB') },
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
