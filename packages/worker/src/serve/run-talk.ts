import type { KeptProcesses } from './kept-processes.ts';
import type { TurnProgram } from './program/turn-program.ts';
import { type TalkedEnd, TalkedProcess } from './talked-process.ts';
import type { TurnEnd, TurnRunOptions, TurnTask } from './turn-task.ts';

/** Keeps processes of programs that are talked with, for further turns of their threads. */
export interface KeptTurn {
  /** Without it each process takes one turn. */
  kept?: KeptProcesses | undefined;
  /** The process that took the last turn of the thread, if it was kept. If it can't take this one, another is started. */
  process?: TalkedProcess | undefined;
}

/** Runs a turn of a program that is talked with, and leaves no process but one that is kept for the next turn of its thread. */
export async function runTalk(
  task: TurnTask,
  options: TurnRunOptions,
  { talk, kept, process: last }: KeptTurn & { talk: NonNullable<TurnProgram['talk']> },
): Promise<TurnEnd> {
  const { face, setup } = options;
  const { thread, signal } = task;
  const keeps = kept !== undefined && face !== undefined && thread !== undefined;
  const prepare = () => TalkedProcess.prepare(task, options, { talk, keeps });
  const changes = kept?.changes;
  let process = last ?? (await prepare());
  let isKept = false;
  try {
    const token = await task.issueToken();
    let end: TalkedEnd | undefined;
    let isReady = false;
    let isRevoked = false;
    try {
      signal.throwIfAborted();
      if (!(await process.begin(task, token.text))) {
        await process.end(signal);
        process = await prepare();
        await process.begin(task, token.text);
      }
      end = await process.take(task, token.text);
      isReady = end.isKeepable && (await process.pause());
    } finally {
      isRevoked = (await token.retire(process.exit)).revoked;
    }
    // A token that is still valid must not meet the next turn.
    if (isReady && isRevoked && keeps)
      isKept = kept.put(process, {
        agent: setup.agent,
        thread,
        changes,
        tell: (ended) => task.onKeptEnded(ended),
      });
    return end;
  } finally {
    if (!isKept) await process.end(signal);
  }
}
