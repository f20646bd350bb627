import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findConfig, repositoryOf, searchedText } from './find-config.ts';

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-find-')));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(path: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  writeFileSync(file, '', { mode: 0o644 });
  return file;
}

function find(cwd: string, env: Record<string, string> = {}, named?: string) {
  mkdirSync(join(home, cwd), { recursive: true, mode: 0o755 });
  return findConfig(named, { env, cwd: join(home, cwd), home });
}

test('An option comes before SIGNALBOX_CONFIG, and both come before the file of the working directory.', () => {
  write('project/signalbox.yaml');
  const env = { SIGNALBOX_CONFIG: '/etc/b.yaml' };
  expect(find('project', env, 'a.yaml')).toEqual({ file: 'a.yaml', by: 'option' });
  expect(find('project', env)).toEqual({ file: '/etc/b.yaml', by: 'environment' });
  expect(find('project', { SIGNALBOX_CONFIG: '' })).toEqual({ file: 'signalbox.yaml', by: 'search' });
});

test('The nearest directory decides, and in one directory .yaml comes before .yml and .json.', () => {
  const above = write('project/signalbox.json');
  expect(find('project/a/b')).toEqual({ file: above, by: 'search' });
  for (const name of ['signalbox.json', 'signalbox.yml', 'signalbox.yaml']) {
    const file = write(`project/a/${name}`);
    expect(find('project/a/b')?.file).toBe(file);
  }
  expect(find('project/a')).toEqual({
    ...{ file: 'signalbox.yaml', by: 'search' },
    passedOver: ['signalbox.yml', 'signalbox.json'],
  });
});

test('The home directory is the last one that is searched.', () => {
  const inHome = write('signalbox.yaml');
  expect(find('project')).toEqual({ file: inHome, by: 'search' });
  rmSync(inHome);
  const above = join(dirname(home), 'signalbox.yaml');
  expect(find('project')).toBeUndefined();
  expect(findConfig(undefined, { env: {}, cwd: home, home })?.file).not.toBe(above);
});

test('The user’s own configuration counts where no folder has one, and is refused if others can write it.', () => {
  const own = write('.config/signalbox/signalbox.yaml');
  expect(find('project')).toEqual({ file: own, by: 'search' });
  const other = write('other/signalbox/signalbox.yml');
  expect(find('project', { XDG_CONFIG_HOME: join(home, 'other') })?.file).toBe(other);
  expect(find('project', { XDG_CONFIG_HOME: 'other' })?.file).toBe(own);
  expect(findConfig(undefined, { env: {}, cwd: home, home, search: false })).toBeUndefined();
  chmodSync(own, 0o666);
  expect(() => find('project')).toThrow(`${own} is not used: ${own} can be written by others`);
  write('project/signalbox.yaml');
  expect(find('project')?.file).toBe('signalbox.yaml');
});

test('A folder is in a git repository, whose mark is a folder or a file, but not in that of the home directory.', () => {
  const repository = (cwd: string) => repositoryOf({ cwd: join(home, cwd), home });
  write('.git/HEAD');
  write('linked/.git');
  write('project/.git/HEAD');
  mkdirSync(join(home, 'project/a'));
  mkdirSync(join(home, 'plain'));
  expect(repository('project/a')).toBe(join(home, 'project'));
  expect(repository('linked')).toBe(join(home, 'linked'));
  expect(repository('plain')).toBeUndefined();
  expect(repository('.')).toBe(home);
});

test('Without a search only the option and the environment count.', () => {
  write('project/signalbox.yaml');
  const at = { cwd: join(home, 'project'), home, search: false };
  expect(findConfig(undefined, { ...at, env: {} })).toBeUndefined();
  expect(findConfig(undefined, { ...at, env: { SIGNALBOX_CONFIG: 'c.yaml' } })?.file).toBe('c.yaml');
});

test('A file above the working directory that other users can write, or whose directory they can write, is refused with the fix.', () => {
  const file = write('project/signalbox.yaml');
  chmodSync(file, 0o666);
  expect(() => find('project/a')).toThrow(`${file} is not used: ${file} can be written by others`);
  chmodSync(file, 0o644);
  chmodSync(dirname(file), 0o777);
  expect(() => find('project/a')).toThrow(`${dirname(file)} can be written by others (chmod go-w mends it)`);
  expect(find('project')?.file).toBe('signalbox.yaml');
  expect(find('project/a', {}, file)?.file).toBe(file);
});

test('The text of a search in vain names what could have led to a file.', () => {
  expect(searchedText({ XDG_CONFIG_HOME: '/own' })).toMatch(
    /no signalbox.yaml here, in a parent folder or in \/own\/signalbox, and SIGNALBOX_CONFIG is not set/,
  );
});
