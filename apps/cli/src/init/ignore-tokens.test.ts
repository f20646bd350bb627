import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ignoreTokens } from './ignore-tokens.ts';

test('A .gitignore gets the rule once, and one that is a link is left alone with the file where it leads.', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-ignore-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, '.gitignore');
  expect(await ignoreTokens(file)).toBe('written');
  expect(await ignoreTokens(file)).toBe('unchanged');
  await writeFile(file, 'node_modules');
  expect(await ignoreTokens(file)).toBe('extended');
  expect(await readFile(file, 'utf8')).toMatch(/^node_modules\n#.*\n\*\.token\n$/);

  const elsewhere = join(directory, 'profile');
  await writeFile(elsewhere, 'as it was');
  for (const target of [elsewhere, join(directory, 'not-there')]) {
    const link = join(directory, `link-to-${target.length}`);
    await symlink(target, link);
    expect(await ignoreTokens(link)).toBe('unchanged');
  }
  expect(await readFile(elsewhere, 'utf8')).toBe('as it was');
});
