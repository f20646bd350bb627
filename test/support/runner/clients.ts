import { expect } from 'vitest';
import type { WorkerRunStack } from './worker-run.ts';

/** Returns the options of a run that issues its token by that of the operator. */
export function operatorOptions(run: WorkerRunStack): string[] {
  return ['--data', run.stack.broker.dataDir, '--role', 'worker', '--json'];
}

/** Runs a fake CLI to its end and gives what it saw. */
export async function seenBy(
  run: WorkerRunStack,
  agent: string,
  command: readonly string[],
  options: { flags?: string[]; cwd?: string; env?: Record<string, string> } = {},
) {
  const { flags = [], ...where } = options;
  const started = run.start([...operatorOptions(run), '--agent', agent, ...flags, '--', ...command], where);
  await using _started = started;
  const { code } = await started.ended;
  expect(started.stderr()).not.toContain('sbx_');
  return { code, report: await started.report(), events: started.events() };
}
