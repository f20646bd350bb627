import type { Amount, NewMessage, Release } from '@signalbox/store';
import {
  agentOf,
  type BatchScheduled,
  type LoggedMessage,
  repeatOf,
  type ScheduledPlace,
  scheduledLogged,
  type Taken,
} from '@signalbox/store/rules';
import type { Counts } from './counts.ts';
import type { WorkingSet } from './working-set.ts';

/** A scheduled message of a transaction. */
export interface WorkingScheduled extends Taken {
  readonly isNew: boolean;
}

/** The scheduled messages that one transaction needs, and its changes of them. */
export class WorkingScheduledMessages implements BatchScheduled {
  /** The loaded messages that have left. */
  readonly dropped: number[] = [];
  readonly #counts: Counts;
  readonly #set: WorkingSet;
  readonly #byNumber = new Map<number, WorkingScheduled>();

  constructor(set: WorkingSet, counts: Counts) {
    this.#set = set;
    this.#counts = counts;
  }

  load(message: LoggedMessage, sentAt: number): void {
    this.#byNumber.set(message.seq, { message, sentAt, isNew: false });
  }

  /** Returns the present messages. */
  messages(): Iterable<WorkingScheduled> {
    return this.#byNumber.values();
  }

  /** Always more than 0, since the counts of the inboxes are known. */
  get count(): number {
    return Number.POSITIVE_INFINITY;
  }

  amount(inbox: string): Readonly<Amount> {
    return this.#set.inbox(inbox).scheduled;
  }

  add(number: number, message: NewMessage, size: number, isCounted: boolean): void {
    const { createdAt, scheduledAt: sentAt = createdAt } = message;
    const logged = scheduledLogged(number, message, size, isCounted);
    this.#byNumber.set(number, { message: logged, sentAt, isNew: true });
    this.#count(logged, 1);
  }

  repeatOf(inbox: string, message: NewMessage): 'duplicate' | 'id_conflict' | undefined {
    for (const { message: known } of this.#byNumber.values())
      if (known.id === message.id && known.shared.inbox === inbox && known.shared.sender === message.sender)
        return repeatOf(known, message);
    return undefined;
  }

  drop(message: NewMessage, { number }: Release): boolean {
    return this.take({ due: message.createdAt, number }) !== undefined;
  }

  take({ number }: ScheduledPlace): Taken | undefined {
    const known = this.#byNumber.get(number);
    if (!known) return undefined;
    this.#byNumber.delete(number);
    if (!known.isNew) this.dropped.push(number);
    this.#count(known.message, -1);
    return known;
  }

  #count({ shared, size }: LoggedMessage, by: 1 | -1): void {
    const { scheduled } = this.#set.inbox(shared.inbox);
    scheduled.messages += by;
    scheduled.bytes += by * size;
    this.#counts.countWaiting(agentOf(shared.inbox), shared, by, by * size);
  }
}
