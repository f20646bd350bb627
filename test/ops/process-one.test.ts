import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { isInstalled } from '../support/cli/completion.ts';

/** Makes the next program process 1, as in a container. */
const asProcessOne = ['-pf', '--mount-proc', '--kill-child', ...(process.getuid?.() === 0 ? [] : ['-r'])];

function canBeProcessOne(): boolean {
  try {
    execFileSync('unshare', [...asProcessOne, 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Starts `up` in a process namespace of its own, under the words of `init`, and returns what it logged before it was ready. */
async function loggedBy(init: readonly string[]): Promise<string> {
  await using directory = await tempDir();
  const { path: cwd } = directory;
  await writeFile(join(cwd, 'signalbox.yaml'), 'broker: { listen: 127.0.0.1:0, data: ./state }\n');
  const argv = [...asProcessOne, ...init, process.execPath, ...signalboxArgv(['up', '--json'])];
  const child = spawn('unshare', argv, { cwd, env: cleanEnv(), stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  let logged = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    logged += text;
  });
  await Promise.race([once(child.stdout, 'data'), ended]);
  expect(child.exitCode, logged).toBeNull();
  child.kill('SIGKILL');
  await ended;
  return logged;
}

test.skipIf(!canBeProcessOne())('up warns when it is process 1 itself.', async () => {
  expect(await loggedBy([])).toContain('this is process 1');
});

test.skipIf(!canBeProcessOne() || !isInstalled('tini'))(
  'up under the init of the image has nothing to warn of.',
  async () => {
    expect(await loggedBy(['tini', '-s', '--'])).not.toContain('this is process 1');
  },
);
