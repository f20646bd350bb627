import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@signalbox/testing';
import { checkedKeys, cleanEnv, signalboxArgv } from '../cli/command-line.ts';
import { startJournaledStack } from '../orchestrator/journaled-stack.ts';
import type { ToolStack } from '../orchestrator/tool-stack.ts';
import type { FakeReport } from './fake-agents/fake-agent.ts';

/** A running `signalbox worker run`. Disposing it kills it hard. */
export interface Run extends AsyncDisposable {
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  /** The events it wrote with --json. */
  events(): Record<string, unknown>[];
  /** The report that the first fake CLI under it printed. */
  report(): Promise<FakeReport>;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
  kill(signal: NodeJS.Signals): void;
}

/** Broker, orchestrator and fake CLIs on the PATH; a home, and a run root that only its user can write to. */
export interface WorkerRunStack extends AsyncDisposable {
  readonly stack: ToolStack;
  readonly home: string;
  readonly runRoot: string;
  /** A directory for an agent to work in. */
  workDirectory(name: string): Promise<string>;
  start(args: readonly string[], options?: { cwd?: string; env?: Record<string, string> }): Run;
}

const names = ['claude', 'codex', 'copilot', 'opencode', 'gemini', 'qwen', 'cline', 'cursor-agent'];

/** Everything lies under a directory of the home, because gemini does not take a folder under /tmp for a private place. */
export async function startWorkerRunStack(): Promise<WorkerRunStack> {
  await using opened = new AsyncDisposableStack();
  const stack = opened.use(await startJournaledStack());
  const { path } = opened.use(await tempDir());
  const [bin, home, runRoot] = [join(path, 'bin'), join(path, 'home'), join(path, 'run')];
  for (const directory of [bin, home, runRoot]) await mkdir(directory, { mode: 0o700 });
  for (const name of names) {
    const script = fileURLToPath(new URL(`./fake-agents/${name}.ts`, import.meta.url));
    await writeFile(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`);
    await chmod(join(bin, name), 0o755);
  }
  const resources = opened.move();
  return {
    stack,
    home,
    runRoot,
    async workDirectory(name) {
      const directory = join(path, name);
      await mkdir(directory, { recursive: true });
      return directory;
    },
    start: (args, { cwd = path, env = {} } = {}) =>
      startRun(args, {
        cwd,
        env: {
          HOME: home,
          XDG_STATE_HOME: join(path, 'state'),
          PATH: `${bin}:${process.env.PATH}`,
          XDG_RUNTIME_DIR: runRoot,
          SIGNALBOX_URL: stack.broker.url,
          ...env,
        },
      }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Starts `signalbox worker run`, or `worker serve`, in an environment with nothing of Signalbox's but `env`. */
export function startRun(
  args: readonly string[],
  { cwd, env, part = 'run' }: { cwd: string; env: Record<string, string>; part?: 'run' | 'serve' },
): Run {
  const child = spawn(process.execPath, signalboxArgv(['worker', part, ...args]), {
    cwd,
    env: cleanEnv(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = { stdout: '', stderr: '' };
  const said = Promise.withResolvers<void>();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      text[stream] += chunk;
      if (text.stdout.includes('\n')) said.resolve();
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  const run: Run = {
    pid: child.pid!,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    events: () => jsonLines(part === 'serve' ? text.stdout : text.stderr),
    async report() {
      await Promise.race([said.promise, ended]);
      if (!text.stdout.includes('\n')) throw new Error(`no report: ${text.stdout}${text.stderr}`);
      return JSON.parse(text.stdout.split('\n')[0]!.replace(/^\[[^\]]*\] /, ''));
    },
    ended,
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
  return run;
}

function jsonLines(text: string): Record<string, unknown>[] {
  return (
    text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      // The log of the agent's own face may stand between the events.
      .map((line) => ('level' in line ? line : checkedKeys(line)))
  );
}
