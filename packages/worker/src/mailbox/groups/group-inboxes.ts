import { isGroupName, SignalboxError } from '@signalbox/protocol';
import type { GroupCheckout } from './group-checkouts.ts';
import type { GroupInbox } from './group-inbox.ts';

/** The most groups from which an agent takes messages at a time: each has a connection to the broker. */
const maxGroups = 4;

/** A message of a group that a read has returned, with the group. */
export interface FoundCheckout {
  inbox: GroupInbox;
  checkout: GroupCheckout;
}

/** The groups from which one agent takes messages. */
export class GroupInboxes implements AsyncDisposable {
  readonly #open: (group: string) => GroupInbox;
  readonly #ownRole: () => string;
  readonly #byGroup = new Map<string, GroupInbox>();

  /**
   * Makes the table of groups. `open` makes the access to a group, which connects at its first use. `ownRole` returns the role of the
   * agent.
   */
  constructor(open: (group: string) => GroupInbox, ownRole: () => string) {
    this.#open = open;
    this.#ownRole = ownRole;
  }

  /**
   * Returns the access to a group. Throws `invalid_arguments` if the name is not the name of a group, and `too_many_groups` if the agent
   * holds messages of as many groups as it may.
   */
  of(group: string): GroupInbox {
    if (!isGroupName(group)) {
      const message = `'group' must be role:ROLE or group:NAME, and '${group}' is neither; the group of your own role is role:${this.#ownRole()}`;
      throw new SignalboxError('invalid_arguments', message);
    }
    const known = this.#byGroup.get(group);
    if (known) return known;
    if (this.#byGroup.size >= maxGroups) this.#makeRoom();
    const inbox = this.#open(group);
    this.#byGroup.set(group, inbox);
    return inbox;
  }

  /** Returns the group in which a cursor names a read, and the number of the read. */
  ofCursor(cursor: string): { inbox: GroupInbox; read: number } | undefined {
    for (const inbox of this.#byGroup.values()) {
      const read = inbox.readOf(cursor);
      if (read !== undefined) return { inbox, read };
    }
    return undefined;
  }

  /** Returns the messages with an id that reads have returned, also those that were lost. */
  withId(id: string, from?: string): FoundCheckout[] {
    return [...this.#byGroup.values()].flatMap((inbox) =>
      inbox.checkouts.withId(id, from).map((checkout) => ({ inbox, checkout })),
    );
  }

  /** Returns the messages that the agent holds. */
  checkedOut(): GroupCheckout[] {
    return [...this.#byGroup.values()].flatMap((inbox) => inbox.checkedOut());
  }

  /** Gives back the messages that the reads of a session returned, because it has ended. Never rejects. */
  async release(session: string): Promise<void> {
    await Promise.allSettled([...this.#byGroup.values()].map((inbox) => inbox.release(session)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([...this.#byGroup.values()].map((inbox) => inbox[Symbol.asyncDispose]()));
  }

  #makeRoom(): void {
    const idle = [...this.#byGroup.values()].find((inbox) => inbox.isIdle);
    if (!idle) {
      const taken = [...this.#byGroup.keys()].join(', ');
      const message = `you take messages of ${maxGroups} groups already: ${taken}; be done with what you hold of one of them first`;
      throw new SignalboxError('too_many_groups', message);
    }
    this.#byGroup.delete(idle.group);
    void idle[Symbol.asyncDispose]();
  }
}
