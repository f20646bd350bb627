import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Config } from '@signalbox/config';
import { reloadObstacle } from '@signalbox/config/internal';
import { SignalboxError } from '@signalbox/protocol';

/**
 * The configuration that the operator has put in force, with what its files held then. A process that died is started again
 * without the operator, so it must not read what somebody else has written meanwhile.
 */
export class ApprovedConfig {
  #config: Config;
  #contents: ReadonlyMap<string, string>;

  constructor(config: Config) {
    this.#config = config;
    this.#contents = contentsOf(config.files);
  }

  /** Takes over a configuration that the operator has asked for. */
  approve(config: Config): void {
    this.#config = config;
    this.#contents = contentsOf(config.files);
  }

  /** Throws `SignalboxError` `exposed` if a file has changed, and somebody else than the user could have changed it. */
  check(): void {
    const obstacle = reloadObstacle(this.#config, this.#config.files);
    if (obstacle === undefined) return;
    const now = contentsOf(this.#config.files);
    const changed = [...this.#contents].find(([file, content]) => now.get(file) !== content)?.[0];
    if (changed === undefined) return;
    throw new SignalboxError(
      'exposed',
      `${changed} has changed, and ${obstacle}: look at it, then kill -HUP ${process.pid} puts it in force`,
    );
  }
}

/** Returns a hash of each file. A pipe can be read only once, and counts as empty. */
function contentsOf(files: readonly string[]): Map<string, string> {
  return new Map(files.map((file) => [file, hashOf(file)]));
}

function hashOf(file: string): string {
  try {
    return statSync(file).isFile() ? createHash('sha256').update(readFileSync(file)).digest('hex') : '';
  } catch {
    return '';
  }
}
