import { mkdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { checkout, run, runLink } from '../support/cli/install.ts';

test.concurrent('A chain of relative links leads to the command too.', async ({ expect }) => {
  await using where = await checkout();
  await symlink(`../rosa's check out/apps/cli/bin/signalbox`, join(where.home, 'first'));
  await symlink('../home/first', join(where.elsewhere, 'signalbox'));
  expect(await run(where, './signalbox', [])).toMatchObject({ code: 0, stderr: '' });
});

test.concurrent('A folder that is not on PATH is linked into, and the line that puts it there is printed.', async ({
  expect,
}) => {
  await using where = await checkout();
  const { code, stdout } = await runLink(where, ['--to', 'bin']);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining(`  export PATH="${where.elsewhere}/bin:$PATH"\n`),
  });
});

test.concurrent('A checkout that is not built says so, names itself, and is not linked.', async ({
  expect,
}) => {
  await using where = await checkout({ built: false });
  const expected = expect.stringContaining(`${where.path} is not built yet.\nBuild it there: npm run build`);
  expect(await run(where, join(where.path, 'apps/cli/bin/signalbox'), ['up'])).toMatchObject({
    code: 1,
    stderr: expected,
  });
  expect(await runLink(where, [])).toMatchObject({ code: 1, stderr: expected });
  await expect(readlink(join(where.home, '.local/bin/signalbox'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test.concurrent('Without any Node, the command says which one it needs and how to get it.', async ({
  expect,
}) => {
  await using where = await checkout({ node: false });
  const tools = join(where.home, 'tools');
  await mkdir(tools);
  await symlink('/bin/sh', join(tools, 'sh'));
  const { code, stderr } = await run(where, join(where.path, 'apps/cli/bin/signalbox'), [], tools);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/needs Node 22\.12 or newer.*\n.*npm ci/),
  });
});

test.concurrent('The link of another checkout is replaced; other files are left alone, by unlink too.', async ({
  expect,
}) => {
  await using one = await checkout();
  await using other = await checkout();
  const file = join(one.home, '.local/bin/signalbox');
  const ofOther = join(other.path, 'apps/cli/bin/signalbox');
  await mkdir(join(one.home, '.local/bin'), { recursive: true });
  await symlink(ofOther, file);
  expect(await runLink(one, ['--remove'])).toMatchObject({ code: 1 });
  expect(await readlink(file)).toBe(ofOther);
  expect(await runLink(one, [])).toMatchObject({ code: 0, stdout: expect.stringContaining(ofOther) });
  expect(await runLink(one, ['--remove'])).toMatchObject({ code: 0 });
  await writeFile(file, 'mine');
  for (const args of [[], ['--remove']]) {
    expect(await runLink(one, args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('left alone'),
    });
  }
});
