import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/bundle.mjs', import.meta.url));
const bundled = fileURLToPath(new URL('../../apps/cli/bundle/main.js', import.meta.url));

test('A build is put beside the two before it, and the command loads the newest.', async () => {
  await using directory = await tempDir();
  const { path } = directory;
  for (const age of [1, 2, 3]) {
    await mkdir(join(path, `build-${age}`));
    await utimes(join(path, `build-${age}`), 1e9 - age, 1e9 - age);
  }
  await promisify(execFile)(process.execPath, [script, '--to', path]);

  const main = await readFile(join(path, 'main.js'), 'utf8');
  const build = /^import '\.\/(\w+)\/main\.js';\n$/.exec(main)?.[1];
  expect((await readdir(path)).sort()).toEqual([build, 'build-1', 'build-2', 'main.js'].sort());
  expect(await readFile(bundled, 'utf8')).toBe(main);
});
