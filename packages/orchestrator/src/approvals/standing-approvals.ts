import type { ApprovalStore, BoundCall, StandingRecord } from '@signalbox/store/journal';

/** Holds the standing approvals in force. A wall clock that is set back does not prolong one in this process. */
export class StandingApprovals {
  readonly #store: Pick<ApprovalStore, 'removeStanding'>;
  readonly #now: () => number;
  readonly #monotonic: () => number;
  readonly #known = new Map<string, StandingRecord>();
  /** The latest time at which each one ends, in monotonic milliseconds. */
  readonly #endsAt = new Map<string, number>();

  /** `known` are the store's records. `now` returns epoch milliseconds, `monotonic` returns monotonic milliseconds. */
  constructor(
    store: Pick<ApprovalStore, 'removeStanding'>,
    known: readonly StandingRecord[],
    now: () => number,
    monotonic: () => number,
  ) {
    this.#store = store;
    this.#now = now;
    this.#monotonic = monotonic;
    for (const standing of known) this.#remember(standing);
  }

  /** Lists the standing approvals in force, oldest first. */
  list(): StandingRecord[] {
    return [...this.#known.values()].filter((standing) => !this.#isOver(standing));
  }

  /** Adds a standing approval that has been written, and forgets those whose time is over. */
  add(standing: StandingRecord): void {
    this.#remember(standing);
    for (const known of this.#known.values()) {
      if (!this.#isOver(known)) continue;
      const { id } = known;
      this.#forget(id);
      // If this fails, the standing approval is still over. It is removed later.
      this.#store.removeStanding(id).catch(() => {});
    }
  }

  /** Takes over the store's present records: other processes may have added and removed some. */
  refresh(stored: readonly StandingRecord[]): void {
    const ids = new Set(stored.map(({ id }) => id));
    for (const id of [...this.#known.keys()]) if (!ids.has(id)) this.#forget(id);
    for (const standing of stored) if (!this.#known.has(standing.id)) this.#remember(standing);
  }

  /** Returns a standing approval that lets a call run: one for the same agent, role, tool and definition. */
  for({ agent, role, tool, definitionHash }: BoundCall): StandingRecord | undefined {
    return this.list().find(
      (one) =>
        one.agent === agent &&
        one.role === role &&
        one.tool === tool &&
        one.definitionHash === definitionHash,
    );
  }

  /** Ends a standing approval. Resolves with it when that is on the disk, or with `undefined` if there is none with this id. */
  async revoke(id: string): Promise<StandingRecord | undefined> {
    const standing = this.#known.get(id);
    if (!standing) return undefined;
    await this.#store.removeStanding(id);
    this.#forget(id);
    return standing;
  }

  #remember(standing: StandingRecord): void {
    const { id, until, createdAt } = standing;
    this.#known.set(id, standing);
    this.#endsAt.set(id, this.#monotonic() + Math.min(until - this.#now(), until - createdAt));
  }

  #forget(id: string): void {
    this.#known.delete(id);
    this.#endsAt.delete(id);
  }

  #isOver({ id, until }: StandingRecord): boolean {
    return until <= this.#now() || this.#endsAt.get(id)! <= this.#monotonic();
  }
}
