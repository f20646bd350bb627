import { flushCompileCache } from 'node:module';
import { isSupervised, reportToSupervisor } from '@signalbox/daemon/supervisor';
import { printJson, printLines } from '../terminal/output.ts';

/** Announces that a process is ready: to its supervisor, as one line of JSON, or to people. */
export function announceReady(
  facts: Record<string, unknown>,
  lines: string[],
  flags: { json?: boolean },
): void {
  if (isSupervised()) void reportToSupervisor({ ready: facts });
  else if (flags.json) printJson(facts);
  else printLines(...lines);
  // Else the compiled code is kept at the end only, which one that is killed never has: each start would compile anew.
  flushCompileCache();
}
