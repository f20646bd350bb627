import type { BoundCall, StandingRecord } from './approval-record.ts';
import type { ApprovalStore } from './approval-store.ts';

/** Knows the standing approvals that are in force. */
export class StandingApprovals {
  readonly #store: Pick<ApprovalStore, 'standing' | 'removeStanding'>;
  readonly #now: () => number;
  readonly #known: Map<string, StandingRecord>;

  /** Reads what the store holds. `now` is in epoch milliseconds. */
  constructor(store: Pick<ApprovalStore, 'standing' | 'removeStanding'>, now: () => number) {
    this.#store = store;
    this.#now = now;
    this.#known = new Map(store.standing().map((standing) => [standing.id, standing]));
  }

  /** Lists those that are in force, oldest first. */
  list(): StandingRecord[] {
    const now = this.#now();
    return [...this.#known.values()].filter(({ until }) => until > now);
  }

  /** Adds one that has been written, and forgets those whose time is over. */
  add(standing: StandingRecord): void {
    this.#known.set(standing.id, standing);
    const now = this.#now();
    for (const { id, until } of this.#known.values()) {
      if (until > now) continue;
      this.#known.delete(id);
      // If this fails, it is over all the same, and removed another time.
      this.#store.removeStanding(id).catch(() => {});
    }
  }

  /** Returns one that lets a call pass: of the same agent, role, tool and definition. */
  for({ agent, role, tool, definitionHash }: BoundCall): StandingRecord | undefined {
    return this.list().find(
      (one) =>
        one.agent === agent &&
        one.role === role &&
        one.tool === tool &&
        one.definitionHash === definitionHash,
    );
  }

  /** Ends one. Resolves with it when that is on the disk; `undefined` if there is none with this id. */
  async revoke(id: string): Promise<StandingRecord | undefined> {
    const standing = this.#known.get(id);
    if (!standing) return undefined;
    await this.#store.removeStanding(id);
    this.#known.delete(id);
    return standing;
  }
}
