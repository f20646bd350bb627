import { execFile } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';
import { isInstalled } from '../support/cli/completion.ts';

const run = promisify(execFile);
const hasSystemd = isInstalled('systemd-analyze');

async function printedUnit(scope: '--user' | '--system') {
  const directory = await tempDir();
  const { path: cwd } = directory;
  // A blank, so that quoting counts.
  const folder = join(cwd, 'my fleet');
  await mkdir(folder);
  await chmod(cwd, 0o755);
  await writeFile(join(folder, 'signalbox.yaml'), '{}\n');
  const { code, stdout } = await signalbox(
    ['service', 'install', scope, '--print', '--credential', `docs=${join(folder, 'signalbox.yaml')}`],
    { cwd: folder },
  );
  expect(code).toBe(0);
  const file = join(cwd, 'signalbox.service');
  // This machine need not have the user.
  await writeFile(file, stdout.replace('User=signalbox', 'User=daemon'));
  return { directory, file };
}

test.skipIf(!hasSystemd).each(['--system', '--user'] as const)(
  'systemd finds nothing wrong with the %s unit.',
  async (scope) => {
    const { directory, file } = await printedUnit(scope);
    await using _ = directory;
    const { stdout, stderr } = await run(
      'systemd-analyze',
      ['verify', ...(scope === '--user' ? ['--user'] : []), file],
      {
        env: { ...process.env, XDG_RUNTIME_DIR: directory.path },
      },
    );
    const ours = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('signalbox'));
    expect(ours).toEqual([]);
  },
);

test.skipIf(!hasSystemd)('systemd rates the exposure of the system unit as OK.', async () => {
  const { directory, file } = await printedUnit('--system');
  await using _ = directory;
  const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', file]);
  const [, exposure] = /Overall exposure level for \S+: (\d+\.\d+)/.exec(stdout) ?? [];
  expect(Number(exposure)).toBeLessThan(3);
});
