import { join } from 'node:path';
import { type Journal, openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { startToolStack, type ToolStack, type ToolStackOptions } from './tool-stack.ts';

/** A stack whose orchestrator keeps a journal, which can be given to another one. */
export interface JournaledStack extends ToolStack {
  readonly journal: Journal;
}

/** Starts a stack with a journal. */
export async function startJournaledStack(options: ToolStackOptions = {}): Promise<JournaledStack> {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const journal = starting.use(await openSqliteJournal({ file: join(directory.path, 'journal.db') }));
  const stack = starting.use(await startToolStack({ journal, ...options }));
  const started = starting.move();
  return { ...stack, journal, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
