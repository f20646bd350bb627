import { type AgentPlan, type AgentSetup, needsStrictDirectory, planAgent } from './agent-plan.ts';
import type { Minder } from './minder.ts';
import type { Charge } from './minder-charges.ts';
import type { OwnProcess } from './process-ending.ts';
import { createRunDirectory, type RunRoot, removeRunDirectory, writePrivateFile } from './run-directory.ts';
import { claimWorkspace } from './workspace-claim.ts';
import { type Restored, restoreWorkspace } from './workspace-record.ts';

/** What one process needs on disk; the minder knows all of it. */
export interface RunPlace {
  readonly plan: AgentPlan;
  putToken(text: string): Promise<void>;
  /** The process that the place is for has started. */
  holds(process: OwnProcess): void;
  /** Removes it, and takes our entry out of the user's file. Gives what became of that file, if there was an entry. */
  leave(): Promise<Restored | undefined>;
}

/** Rejects with `SignalboxError` `usage` where there is no private place, or the user's file is taken; nothing stays then. */
export async function openRunPlace(
  setup: AgentSetup,
  options: { roots: readonly RunRoot[]; minder: Minder },
): Promise<RunPlace> {
  const { roots, minder } = options;
  const strict = needsStrictDirectory(planAgent(setup, '/'));
  const directory = await createRunDirectory(roots, strict);
  let charge: Charge = { directories: [directory] };
  let record: string | undefined;
  const tell = (more: Charge): void => {
    charge = { ...charge, ...more };
    minder.charge(setup.agent, charge);
  };
  const leave = async (): Promise<Restored | undefined> => {
    const restored =
      record === undefined ? undefined : await restoreWorkspace(record).catch(() => 'unreadable' as const);
    record = undefined;
    await removeRunDirectory(directory);
    minder.charge(setup.agent, undefined);
    return restored;
  };
  tell({});
  try {
    const plan = planAgent(setup, directory);
    for (const { path, text } of plan.injection.files) await writePrivateFile(path, text);
    const { workspace } = plan.injection;
    if (workspace) record = await claimWorkspace(workspace, (path) => tell({ records: [path] }));
    return {
      plan,
      putToken: (text) => writePrivateFile(plan.tokenFile, `${text}\n`),
      holds: (process) => tell({ process }),
      leave,
    };
  } catch (error) {
    await leave();
    throw error;
  }
}
