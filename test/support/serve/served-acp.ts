import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, vi } from 'vitest';
import type { Workspace } from '../cli/workspace.ts';
import { type Run, startRun } from '../runner/worker-run.ts';

/** The script of our own ACP agent. */
export const acpAgentMain = fileURLToPath(new URL('./acp-agent-main.ts', import.meta.url));

/** An agent that speaks ACP, served by `signalbox worker serve`, and its home. */
export interface ServedAcp extends AsyncDisposable {
  readonly run: Run;
  readonly home: string;
  /** The events of a kind. */
  events(name: string): Record<string, unknown>[];
  /** The warnings with a code. */
  warnings(code: string): Record<string, unknown>[];
  /** Makes a file in its home. */
  touch(name: string): Promise<void>;
  /** Ends the command. */
  stop(): Promise<void>;
}

/** Serves our own ACP agent under a name, with words that say how it behaves, and with the program name that `as` gives it. */
export async function serveAcp(
  { directory, ready }: Workspace,
  agent: string,
  { words = [], args = [], as = 'agent' }: { words?: string[]; args?: string[]; as?: string } = {},
): Promise<ServedAcp> {
  const home = join(directory, `${agent}-home`);
  await mkdir(join(home, 'run'), { recursive: true, mode: 0o700 });
  const program = join(home, as);
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${acpAgentMain}' "$@"\n`);
  await chmod(program, 0o755);
  const options = ['--agent', agent, '--role', 'researcher', '--retry-wait', '100ms', '--json'];
  const run = startRun(
    [
      ...[...options, '--data', join(directory, 'state'), ...(as === 'agent' ? ['--acp'] : []), ...args],
      ...['--', program, ...words],
    ],
    {
      cwd: home,
      env: { HOME: home, XDG_RUNTIME_DIR: join(home, 'run'), SIGNALBOX_URL: ready.broker.url },
      part: 'serve',
    },
  );
  const events = (name: string) => run.events().filter(({ event }) => event === name);
  const isServing = () =>
    expect([events('serving').length > 0, run.stderr()]).toEqual([true, expect.any(String)]);
  await vi.waitFor(isServing, { timeout: 30_000, interval: 100 });
  return {
    run,
    home,
    events,
    warnings: (code) => events('warning').filter((warning) => warning.code === code),
    touch: (name) => writeFile(join(home, name), ''),
    async stop() {
      run.kill('SIGTERM');
      expect(await run.ended).toEqual({ code: 0, signal: null });
    },
    [Symbol.asyncDispose]: () => run[Symbol.asyncDispose](),
  };
}
