import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { cleanEnv } from '../support/cli/command-line.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const bin = fileURLToPath(new URL('../../apps/cli/bin/signalbox.js', import.meta.url));

/** Runs the installed command, or another program, under a Node that says it has that version. */
async function runBinOn(
  version: string,
  program: readonly string[] = [bin, '--version'],
): Promise<{ code: number; stdout: string; stderr: string }> {
  await using directory = await tempDir();
  const preload = join(directory.path, 'version.cjs');
  await writeFile(
    preload,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`,
  );
  const argv = ['--require', preload, ...program];
  return await new Promise((resolve) => {
    const child = execFile(process.execPath, argv, { cwd: root, env: cleanEnv() }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

test.each(['20.20.2', '22.11.0', '12.22.12'])(
  'Node %s is told in two lines what to do, and nothing is loaded.',
  async (version) => {
    const { code, stdout, stderr } = await runBinOn(version);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringContaining(`this is Node ${version}`),
      expect.stringMatching(/bin\/signalbox.*install Node 22\.12/),
    ]);
  },
);

test.each(['22.12.0', '24.0.0'])('Node %s runs the command.', async (version) => {
  expect(await runBinOn(version)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: '',
  });
});

const names = ['broker', 'client', 'daemon', 'mcp-host', 'orchestrator', 'postgres', 'protocol', 'worker'];

test('A program that imports any of the packages is told which Node it needs.', async () => {
  const importing = (version: string, packages: string[]) => {
    const program = `for (const name of ${JSON.stringify(packages)})
    await import('@signalbox/' + name).then(() => console.log(name), (error) => console.log(name, String(error)))`;
    return runBinOn(version, ['--conditions=@signalbox/source', '--input-type=module', '--eval', program]);
  };
  const told = 'Error: Signalbox needs Node 22.12 or newer; this is Node 20.20.2';
  expect((await importing('20.20.2', names)).stdout.trimEnd().split('\n')).toEqual(
    names.map((name) => `${name} ${told}`),
  );
  // All of them import this one, which looks at the version.
  expect(await importing('22.12.0', ['protocol'])).toEqual({ code: 0, stdout: 'protocol\n', stderr: '' });
});
