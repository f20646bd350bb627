import type { TurnRef } from '../mailbox/served/turn-messages.ts';
import { messageFileIn } from '../runner/agent-plan.ts';
import { replacePrivateFile, writePrivateFile } from '../runner/run-directory.ts';
import { prepareRunFiles, type RunFiles } from '../runner/run-files.ts';
import type { FaceSeat } from '../shared-face/shared-face.ts';
import type { TurnCommand } from './program/turn-program.ts';
import { turnPrompt, turnText } from './turn-prompt.ts';
import type { TurnRunOptions, TurnTask } from './turn-task.ts';

/** The files of a process, and the command that starts it. */
export interface TurnFiles {
  files: RunFiles;
  command: TurnCommand;
}

/** Makes the files of a process for its first turn. `place`: it is to take more turns, and has this place at the face. */
export async function prepareTurnFiles(
  task: TurnTask,
  options: TurnRunOptions,
  place?: FaceSeat,
): Promise<TurnFiles> {
  const { setup, roots, records, cleanup } = options;
  const turn = turnOf(task, options);
  const files = await prepareRunFiles(
    place
      ? // The face knows the messages of each turn.
        { ...setup, turn: { ...turn, seqs: [] }, faceSocket: place.path, seatKey: place.seat.key }
      : { ...setup, turn },
    { roots, records, cleanup, name: `${setup.agent}#turn-${task.turn}` },
  );
  try {
    await writeMessages(files, task, options);
    return { files, command: await writeCommandFiles(files, task, options) };
  } catch (error) {
    await files.remove();
    throw error;
  }
}

/** Names the messages of a turn, and the thread that its tool calls belong to. */
export function turnOf({ seqs, messages }: TurnTask, { group }: Pick<TurnRunOptions, 'group'>): TurnRef {
  const [thread, ...others] = new Set(messages.map((message) => message.thread));
  return {
    seqs,
    ...(group !== undefined && { group }),
    ...(thread !== undefined && others.length === 0 && { thread }),
  };
}

/** Writes the file that holds the messages of a turn, in place of that of an earlier one. */
export async function writeMessages(
  { directory }: RunFiles,
  { messages }: TurnTask,
  { setup: { agent } }: TurnRunOptions,
): Promise<void> {
  await replacePrivateFile(
    messageFileIn(directory),
    `${JSON.stringify({ agent, messages }, undefined, 2)}\n`,
  );
}

/** Gets the command from the program's rules, and writes the files that it needs. */
async function writeCommandFiles(
  { plan, directory }: RunFiles,
  { messages, session }: TurnTask,
  { setup, turns }: TurnRunOptions,
): Promise<TurnCommand> {
  const { agent, cwd } = setup;
  const command = turns.command({
    agent,
    argv: plan.injection.argv,
    cwd,
    messages,
    prompt: turnPrompt(agent, messages),
    text: turnText(messages),
    session,
    runDirectory: directory,
  });
  for (const { path, text } of command.files ?? []) await writePrivateFile(path, text);
  return command;
}
