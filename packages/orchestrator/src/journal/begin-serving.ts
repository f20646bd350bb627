import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import type { Journal } from '@signalbox/store/journal';

/** The time between two checks of a waiting orchestrator whether the other one still lives, in milliseconds. */
const lookEveryMs = 250;

/** The dependencies of {@link beginServing}. */
export interface BeginServingDeps {
  journal: Journal | undefined;
  /** Returns the name of the broker and the inbox. */
  inbox: () => string;
  /** Ends the wait when it is aborted. */
  signal: AbortSignal;
  log: Log;
}

/**
 * Makes an orchestrator serve its inbox. Resolves when it does, or when it has to wait because another orchestrator with the same journal
 * serves it: then it begins when that one has ended. `over` resolves when nothing waits any more. Rejects if `serve` does before a wait.
 */
export async function beginServing(
  serve: () => Promise<void>,
  deps: BeginServingDeps,
): Promise<{ over: Promise<void> }> {
  const { journal, inbox, log } = deps;
  if (!journal || (await journal.lead(inbox()))) {
    await serve();
    return { over: Promise.resolve() };
  }
  const reason =
    'another orchestrator with this journal serves the inbox; this one begins when that one is over';
  log({ event: 'waits_for_other_orchestrator', reason });
  const over = takeOver(serve, journal, deps).catch((thrown) => {
    log({ event: 'journal_failed', reason: messageOf(thrown) });
  });
  return { over };
}

async function takeOver(
  serve: () => Promise<void>,
  journal: Journal,
  { inbox, signal, log }: BeginServingDeps,
): Promise<void> {
  do {
    await delay(lookEveryMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    // While the database is away, no orchestrator takes over.
  } while (!(await journal.lead(inbox()).catch(() => false)));
  log({ event: 'takes_over' });
  await serve();
}
