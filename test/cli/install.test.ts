import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { type Checkout, checkout, run, runLink, systemPath } from '../support/cli/install.ts';

/** Returns a folder whose `node` must not be started. */
async function folderOfOldNode({ home }: Checkout): Promise<string> {
  await mkdir(join(home, 'old'));
  await writeFile(join(home, 'old/node'), '#!/bin/sh\necho "this is an old Node"\nexit 99\n', {
    mode: 0o755,
  });
  return join(home, 'old');
}

test.concurrent('The linked command runs from any folder on the Node of the checkout, in a process of its own.', async ({
  expect,
}) => {
  await using where = await checkout();
  const path = `${where.home}/.local/bin:${await folderOfOldNode(where)}:${systemPath}`;
  const linked = await runLink(where, [], path);
  const file = join(where.home, '.local/bin/signalbox');
  expect(linked).toMatchObject({ code: 0, stdout: expect.stringContaining(`${file} now starts signalbox`) });
  expect(linked.stdout).toContain('Try: signalbox --help');

  const { code, pid, stdout } = await run(where, 'signalbox', ['send', 'a b', ''], path);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    argv: [join(where.path, 'apps/cli/bin/signalbox.js'), 'send', 'a b', ''],
    pid,
    execPath: process.execPath,
    cwd: where.elsewhere,
  });
});
