import { type AgentPlan, type AgentSetup, needsStrictDirectory, planAgent } from './agent-plan.ts';
import type { CleanupTask } from './cleanup/cleanup-list.ts';
import type { CleanupProcess } from './cleanup/cleanup-process.ts';
import type { OwnProcess } from './process/process-ending.ts';
import {
  createRunDirectory,
  type RunRoot,
  removeRunDirectory,
  replacePrivateFile,
  writePrivateFile,
} from './run-directory.ts';
import { claimWorkspace } from './workspace/workspace-claim.ts';
import { type Restored, restoreWorkspace, type WorkspaceClaim } from './workspace/workspace-record.ts';

/** The files that one process of an agent needs. The cleanup process knows all of them. */
export interface RunFiles {
  readonly plan: AgentPlan;
  /** The private directory of the process. */
  readonly directory: string;
  /** Writes the token into the file that was made for this process, if one was. A process of several turns gets another in each. */
  writeToken(text: string): Promise<void>;
  /** Adds this process to the list that the cleanup process ends. */
  processStarted(process: OwnProcess): void;
  /** Removes the files, and our entry from the user's file. Returns the result for that file, if it had an entry. */
  remove(): Promise<Restored | undefined>;
}

/**
 * Makes the run directory, its files and the entry in the user's file. Rejects with `SignalboxError` `usage` where no private
 * directory can be made, or another run has its entry in the user's file; nothing stays then.
 */
export async function prepareRunFiles(
  setup: AgentSetup,
  options: {
    roots: readonly RunRoot[];
    records: string;
    cleanup: CleanupProcess;
    /** Distinguishes this process from others of the agent that run at the same time; by default there are no others. */
    name?: string;
  },
): Promise<RunFiles> {
  const { roots, records, cleanup, name = setup.agent } = options;
  const strict = needsStrictDirectory(planAgent(setup, '/'));
  const directory = await createRunDirectory(roots, strict);
  let task: CleanupTask = { directories: [directory] };
  let claim: WorkspaceClaim | undefined;
  const alsoCleanUp = (more: CleanupTask): void => {
    task = { ...task, ...more };
    cleanup.set(name, task);
  };
  const remove = async (): Promise<Restored | undefined> => {
    const restored =
      claim === undefined ? undefined : await restoreWorkspace(claim).catch(() => 'left' as const);
    claim = undefined;
    await removeRunDirectory(directory);
    cleanup.set(name, undefined);
    return restored;
  };
  alsoCleanUp({});
  try {
    const plan = planAgent(setup, directory);
    for (const { path, text } of plan.injection.files) await writePrivateFile(path, text);
    const { workspace } = plan.injection;
    if (workspace)
      claim = await claimWorkspace(workspace, records, (made) => alsoCleanUp({ claims: [made] }));
    return {
      plan,
      directory,
      writeToken: async (text) => {
        if (plan.ownsTokenFile) await replacePrivateFile(plan.tokenFile, `${text}\n`);
      },
      processStarted: (process) => alsoCleanUp({ process }),
      remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
