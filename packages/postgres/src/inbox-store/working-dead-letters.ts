import type { DeadLetter } from '@signalbox/store';
import { agentOf, type BatchDeadLetters, type LoggedMessage, storedMessageOf } from '@signalbox/store/rules';
import type { Counts } from './counts.ts';

/** A dead letter with the message that it was. */
export interface LoadedLetter {
  message: LoggedMessage;
  deadAt: number;
  reason: string | null;
}

/** The dead letters that one transaction needs, and its changes of them. */
export class WorkingDeadLetters implements BatchDeadLetters {
  readonly dropped: number[] = [];
  readonly #counts: Counts;
  readonly #loaded = new Map<number, LoadedLetter>();

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  load(letter: LoadedLetter): void {
    this.#loaded.set(letter.message.seq, letter);
  }

  /** Does nothing: the statement that settles the message writes its row, since the server has the body. */
  add(message: LoggedMessage): void {
    this.#count(message, 1);
  }

  find(seq: number): (DeadLetter & { body?: string | undefined }) | undefined {
    const letter = this.#loaded.get(seq);
    return letter && { ...storedMessageOf(letter.message), ...endingOf(letter) };
  }

  drop(seq: number): { isCounted: boolean } | undefined {
    const letter = this.#loaded.get(seq);
    if (!letter) return undefined;
    this.#loaded.delete(seq);
    this.dropped.push(seq);
    this.#count(letter.message, -1);
    return { isCounted: letter.message.shared.isCounted };
  }

  #count({ shared, size }: LoggedMessage, by: 1 | -1): void {
    this.#counts.countDead(agentOf(shared.inbox), shared, by, by * size);
  }
}

/** Returns the facts of a dead letter besides its message. */
export function endingOf({
  deadAt,
  reason,
}: Omit<LoadedLetter, 'message'>): Pick<DeadLetter, 'deadAt' | 'reason'> {
  return { deadAt, reason: reason ?? 'no reason given' };
}
