import { mkdir, mkdtempDisposable, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeWhole, writeWholeNow } from './write-whole.ts';

describe.each([
  ['writeWhole', writeWhole],
  ['writeWholeNow', async (path: string, text: string) => writeWholeNow(path, text)],
])('%s', (_, write) => {
  it('replaces a file, or a link to one, with a private file, and leaves nothing else behind.', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'whole-files-'));
    const at = (name: string): string => join(directory.path, name);
    await writeFile(at('open'), 'before', { mode: 0o644 });
    await symlink(at('open'), at('link'));
    await write(at('link'), 'after');
    expect(await readFile(at('open'), 'utf8')).toBe('before');
    await write(at('open'), 'after');
    for (const name of ['link', 'open']) {
      expect(await readFile(at(name), 'utf8')).toBe('after');
      expect((await stat(at(name))).mode & 0o777).toBe(0o600);
    }
    expect((await readdir(directory.path)).sort()).toEqual(['link', 'open']);
  });

  it('changes nothing where it may not write.', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'whole-files-'));
    const at = (name: string): string => join(directory.path, name);
    await mkdir(at('folder'));
    await expect(write(at('absent/file'), 'text')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(write(at('folder'), 'text')).rejects.toThrow('folder');
    expect(await readdir(directory.path)).toEqual(['folder']);
  });
});

it('A new file replaces none that is there already, and has the mode that is asked for.', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'whole-files-'));
  const file = join(directory.path, 'new');
  await writeWhole(file, 'first', { isNew: true, mode: 0o640 });
  await expect(writeWhole(file, 'second', { isNew: true })).rejects.toMatchObject({ code: 'EEXIST' });
  expect(await readFile(file, 'utf8')).toBe('first');
  expect((await stat(file)).mode & 0o777).toBe(0o640);
  expect(await readdir(directory.path)).toEqual(['new']);
});
