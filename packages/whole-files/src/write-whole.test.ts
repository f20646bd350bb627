import { mkdtempDisposable, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type WriteOptions, writeWhole, writeWholeNow } from './write-whole.ts';

describe.each([
  ['writeWhole', writeWhole],
  [
    'writeWholeNow',
    async (path: string, text: string, options?: WriteOptions) => writeWholeNow(path, text, options),
  ],
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

  it('changes nothing where it may not, and where a new file is there already.', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'whole-files-'));
    const at = (name: string): string => join(directory.path, name);
    await write(at('new'), 'first', { isNew: true, mode: 0o640 });
    expect((await stat(at('new'))).mode & 0o777).toBe(0o640);
    await expect(write(at('new'), 'second', { isNew: true })).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(write(at('absent/new'), 'second')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(write(directory.path, 'second')).rejects.toMatchObject({
      code: expect.stringMatching(/EISDIR|ENOTEMPTY|EEXIST/),
    });
    expect(await readFile(at('new'), 'utf8')).toBe('first');
    expect(await readdir(directory.path)).toEqual(['new']);
  });
});
