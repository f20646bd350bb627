import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CleanupList, CleanupTask } from './cleanup-list.ts';

/** A small process that cleans up after this one if it is killed. Disposing it ends that process. */
export interface CleanupProcess extends AsyncDisposable {
  /** Replaces the cleanup task of `agent`; `undefined` removes it. */
  set(agent: string, task: CleanupTask | undefined): void;
}

/** The number of times that a cleanup process which dies by itself is replaced. */
const maxReplacements = 5;

/** Starts the cleanup process. `graceMs` is its wait between TERM and KILL in milliseconds. */
export function startCleanupProcess(graceMs: number): CleanupProcess {
  const tasks = new Map<string, CleanupTask>();
  let replacements = 0;
  let closing = false;
  let child = launch();

  function launch(): ChildProcess {
    const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const script = fileURLToPath(new URL(`./cleanup-main.${ending}`, import.meta.url));
    // It leads a session of its own: no signal of the terminal reaches it.
    const started = spawn(process.execPath, [...process.execArgv, script], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      env: { PATH: process.env.PATH },
    });
    started.stdin!.on('error', () => {});
    started.once('error', () => {});
    started.once('exit', () => {
      if (closing || replacements++ >= maxReplacements) return;
      child = launch();
      sendList();
    });
    return started;
  }

  function sendList(): void {
    const list: CleanupList = { graceMs, tasks: [...tasks.values()] };
    child.stdin?.write(`${JSON.stringify(list)}\n`);
  }

  return {
    set(agent, task) {
      if (task === undefined) tasks.delete(agent);
      else tasks.set(agent, task);
      sendList();
    },
    async [Symbol.asyncDispose]() {
      closing = true;
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
      const exited = once(child, 'exit');
      child.stdin?.end();
      await exited;
    },
  };
}
