import fc from 'fast-check';
import { expect, it } from 'vitest';
import { dataFolderOf, fileNameOf, instanceConfig, instanceFor } from './instance-name.ts';

// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
const placeholder = '${instance}';

it('picks the instance by what the server is shared between', () => {
  const caller = { agent: 'rosa', role: 'researcher' };
  expect(instanceFor('all', caller)).toBe('');
  expect(instanceFor('all', undefined)).toBe('');
  expect(instanceFor('role', caller)).toBe('role:researcher');
  expect(instanceFor('worker', caller)).toBe('worker:rosa');
  expect(instanceFor('worker', undefined)).toBeUndefined();
});

it('puts the name of the instance into args, env and cwd, and changes nothing else', () => {
  const config = {
    type: 'stdio' as const,
    command: `${placeholder}`,
    args: ['--file', `/x/${placeholder}/${placeholder}`],
    env: { FILE: `m-${placeholder}.json`, [placeholder]: 'plain' },
    cwd: `/w/${placeholder}`,
    share: 'worker' as const,
  };
  expect(instanceConfig('worker:rosa', config, undefined)).toEqual({
    ...config,
    args: ['--file', '/x/worker-rosa/worker-rosa'],
    env: { FILE: 'm-worker-rosa.json', [placeholder]: 'plain' },
    cwd: '/w/worker-rosa',
  });
  const plain = { type: 'stdio' as const, command: 'x' };
  expect(instanceConfig('worker:rosa', plain, '/state/servers/a')).toBe(plain);
});

it('gives no two instances the same file name, not even where case does not count, and never leaves the folder', () => {
  const nasty = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.constantFrom('../x', 'a/b', 'A', 'a', 'a:b', 'a-b', '', 'ROSA', 'rosa', '$&'),
  );
  fc.assert(
    fc.property(nasty, nasty, (a, b) => {
      const [one, two] = [fileNameOf(`worker:${a}`), fileNameOf(`worker:${b}`)];
      expect(one).toMatch(/^[a-z0-9_-]{1,64}$/);
      expect(one === two).toBe(a === b);
      // A name that was made is not taken for one that needs no making.
      expect(fileNameOf(`worker:${one.slice('worker-'.length)}`) === one).toBe(one === `worker-${a}`);
    }),
  );
});

it('names a folder for each server, and no two servers the same', () => {
  const names = ['notes', 'Notes', 'a:b', 'a-b', '..', '../x', 'My Notes', 'notes-0123456789abcdef'];
  const folders = names.map((name) => dataFolderOf('/state', name));
  expect(folders[0]).toBe('/state/servers/notes');
  expect(new Set(folders.map((folder) => folder.toLowerCase())).size).toBe(names.length);
  for (const folder of folders) expect(folder).toMatch(/^\/state\/servers\/[a-z0-9_-]+$/);
});
