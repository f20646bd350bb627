import { mkdtempDisposable, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readMark, writeMark } from './new-mail.ts';

test('a mark is read from a regular file only: a folder or a device is refused', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-mark-'));
  const at = (name: string) => join(directory.path, name);
  await symlink('/dev/null', at('link'));
  for (const file of [at('link'), directory.path, '/dev/null'])
    await expect(readMark(file)).rejects.toMatchObject({ code: 'usage', message: /is no regular file$/ });
  expect(await readMark(at('none'))).toBeUndefined();
  await writeFile(at('other'), 'a text');
  expect(await readMark(at('other'))).toBeUndefined();
  const mark = { brokerId: 'b', seq: 17 };
  await writeMark(at('other'), mark);
  expect(await readMark(at('other'))).toEqual(mark);
  expect(await readdir(directory.path)).toEqual(['link', 'other']);
});
