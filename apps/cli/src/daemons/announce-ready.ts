import { flushCompileCache } from 'node:module';
import { isSupervised, reportToSupervisor } from '@signalbox/daemon/supervisor';
import { printJson, printLines, snakeKeys } from '../terminal/output.ts';

/** Announces that a process is ready: to its supervisor, as one line of JSON, or to people. */
export function announceReady(
  facts: Record<string, unknown>,
  lines: string[],
  flags: { json?: boolean },
): void {
  if (isSupervised()) void reportToSupervisor({ ready: facts });
  else if (flags.json) printJson(snakeKeys(facts));
  else printLines(...lines);
  // Node keeps compiled code at the end of a process only; one that is killed would have to compile at each start.
  flushCompileCache();
}
