import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));

test('Suites run in turn, also after one that failed, and a page has their counts, their times and the end of what failed.', async () => {
  await using directory = await tempDir();
  const { path } = directory;
  const saying = (name: string, rest: string) => `echo '${name}: about ${name}' && ${rest}`;
  const scripts = {
    build: 'false',
    test: saying('test', "echo '3 passed, 0 failed'"),
    'test:part': 'false',
    'test:all': saying('test:all', 'false'),
    'test:bad': saying('test:bad', "echo ' Tests  1 failed | 4 passed (5)' && exit 3"),
    'test:load:long': saying('test:load:long', "echo '1 passed, 0 failed' && echo '2 passed, 0 failed'"),
  };
  await writeFile(join(path, 'package.json'), JSON.stringify({ name: 'suites', scripts }));
  const run = (...args: string[]) =>
    new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile(process.execPath, [main, ...args], { cwd: path }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    });
  expect((await run('--list')).stdout).toBe(
    'test: about test\nbad: about test:bad\nload:long: about test:load:long\n',
  );
  expect(await run('good')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('test, bad, load:long'),
  });
  expect(await run()).toMatchObject({ code: 1 });
  const page = await readFile(join(path, 'test-results/README.md'), 'utf8');
  expect(page).toContain('no commit');
  expect(page).toMatch(
    /\| test \| passed \| 3 \| 0 \| \d+ s \|\n\| bad \| \*\*failed\*\* \(3\) \| 4 \| 1 \|/,
  );
  expect(page).toMatch(/\| load:long \| passed \| 3 \| 0 \|/);
  expect(page).toMatch(/## bad\n\n```text\n[^`]*1 failed \| 4 passed/);
  expect(await readFile(join(path, 'test-results/load-long.log'), 'utf8')).toContain('2 passed');
  expect(await run('load:long')).toMatchObject({ code: 0 });
});
