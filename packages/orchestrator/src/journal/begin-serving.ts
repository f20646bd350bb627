import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import type { Journal } from './journal.ts';

/** An orchestrator that waits looks this often whether the other one still lives, in milliseconds. */
const lookEveryMs = 250;

/** The dependencies of {@link beginServing}. */
export interface BeginServingDeps {
  journal: Journal | undefined;
  /** Names the broker and the inbox. */
  inbox: () => string;
  /** Ends the wait. */
  signal: AbortSignal;
  log: Log;
}

/**
 * Has an orchestrator serve its inbox. Resolves when it does, or when it is known that it has to wait, because another one that shares its
 * journal serves it: then it goes on when that one is over. `over` resolves when nothing is waited for any more. Rejects if `serve` does
 * before it had to wait.
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
    // While the database is away, nobody takes over.
  } while (!(await journal.lead(inbox()).catch(() => false)));
  log({ event: 'takes_over' });
  await serve();
}
