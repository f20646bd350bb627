import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Run, startRun } from '../runner/worker-run.ts';

/** Returns the events of one name that a run has told of. */
export function eventsOf(run: Run, name: string): Record<string, unknown>[] {
  return run.events().filter(({ event }) => event === name);
}

/** Waits for a file that a script writes its process into. */
export async function pidIn(file: string): Promise<number> {
  await expect.poll(() => existsSync(file) && readFile(file, 'utf8')).toMatch(/^\d+\n$/);
  return Number(await readFile(file, 'utf8'));
}

/**
 * Serves an agent by the command, with a shell script as its program. `args` stand before its command line, `as` is the program's name and
 * its arguments. Nobody listens at the first of the brokers.
 */
export async function serve(
  { brokerUrl, home }: { brokerUrl: string; home: string },
  agent: string,
  script: string,
  args: readonly string[] = [],
  { url = `ws://127.0.0.1:9,${brokerUrl}`, as = ['program'] }: { url?: string; as?: string[] } = {},
) {
  const [name = '', ...words] = as;
  const cwd = join(home, agent);
  const runRoot = join(cwd, 'run');
  await mkdir(runRoot, { recursive: true, mode: 0o700 });
  const program = join(cwd, name);
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  const run = startRun(
    ['--agent', agent, '--json', '--retry-wait', '100ms', ...args, '--', program, ...words],
    {
      cwd,
      env: {
        HOME: home,
        XDG_RUNTIME_DIR: runRoot,
        XDG_STATE_HOME: join(home, 'state'),
        SIGNALBOX_URL: url,
      },
      part: 'serve',
    },
  );
  // The broker knows the agent from then on.
  await expect.poll(() => eventsOf(run, 'serving')).not.toEqual([]);
  return { run, runRoot, cwd };
}
