import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { unitName } from './unit.ts';

/** The manager of services of this machine, or of one user. */
export interface Systemd {
  /** The file of our unit. */
  unitFile: string;
  /** True if systemd runs this machine. */
  isRunning: boolean;
  /** Runs `systemctl`. Rejects with what it wrote on standard error. */
  systemctl(...args: string[]): Promise<void>;
}

/** The time of one `systemctl`, in milliseconds. It may wait for the end of a service. */
const systemctlTimeoutMs = 120_000;

/** Returns the manager of this machine. */
export function thisSystemd(scope: 'user' | 'system', env: NodeJS.ProcessEnv): Systemd {
  const config = env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME) ? env.XDG_CONFIG_HOME : undefined;
  const user = join(config ?? join(homedir(), '.config'), 'systemd', 'user');
  const flags = scope === 'user' ? ['--user'] : [];
  return {
    unitFile: join(scope === 'user' ? user : '/etc/systemd/system', unitName),
    // As sd_booted(3) does it.
    isRunning: existsSync('/run/systemd/system'),
    systemctl: (...args) =>
      new Promise((resolve, reject) => {
        execFile(
          'systemctl',
          [...flags, '--no-ask-password', ...args],
          { timeout: systemctlTimeoutMs },
          (error, _, stderr) => {
            if (!error) return resolve();
            const why = stderr.trim() || messageOf(error);
            reject(
              new SignalboxError('service_failed', `systemctl ${args.join(' ')}: ${why}`, { cause: error }),
            );
          },
        );
      }),
  };
}
