import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Charge, Charges } from './minder-charges.ts';

/** Keeps a small process that cleans up if this one is killed. Disposing it lets that process end. */
export interface Minder extends AsyncDisposable {
  /** Replaces what was said under this name; `undefined` takes it back. It counts from this moment. */
  charge(name: string, charge: Charge | undefined): void;
}

/** A minder that dies without being let go is replaced so often. */
const maxReplacements = 5;

/** Starts the minder. `graceMs`: how long processes have after TERM. */
export function startMinder(graceMs: number): Minder {
  const charges = new Map<string, Charge>();
  let replacements = 0;
  let closing = false;
  let child = launch();

  function launch(): ChildProcess {
    const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const script = fileURLToPath(new URL(`./minder-main.${ending}`, import.meta.url));
    // A session of its own: no signal of the terminal reaches it.
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
      tell();
    });
    return started;
  }

  function tell(): void {
    const line: Charges = { graceMs, charges: [...charges.values()] };
    child.stdin?.write(`${JSON.stringify(line)}\n`);
  }

  return {
    charge(name, charge) {
      if (charge === undefined) charges.delete(name);
      else charges.set(name, charge);
      tell();
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
