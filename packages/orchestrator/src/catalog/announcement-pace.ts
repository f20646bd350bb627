/** The number of changes of a server that are announced at once before its announcements are spaced. */
const atOnce = 3;
/** The time between two spaced announcements, and the time without a change that ends the spacing, in milliseconds. */
const periodMs = 60_000;

/** What is known of a server whose list has changed. Times are in monotonic milliseconds. */
interface Pace {
  changedAt: number;
  announcedAt: number;
  /** The number of its announcements since it last had a quiet time. */
  announcements: number;
}

/**
 * Spaces the announcements of servers whose lists keep changing: the first three changes after a quiet minute are announced at once, and
 * then one a minute. Each server has a pace of its own. `now` is in monotonic milliseconds.
 */
export class AnnouncementPace {
  readonly #paces = new Map<string, Pace>();

  /** Records that the lists of these servers have changed. */
  changed(servers: Iterable<string>, now: number): void {
    for (const [server, { changedAt }] of this.#paces)
      if (now - changedAt >= periodMs) this.#paces.delete(server);
    for (const server of servers) {
      const pace = this.#paces.get(server);
      if (pace) pace.changedAt = now;
      else this.#paces.set(server, { changedAt: now, announcedAt: now, announcements: 0 });
    }
  }

  /** Records that the changes of these servers are announced now. */
  announced(servers: Iterable<string>, now: number): void {
    for (const server of servers) {
      const pace = this.#paces.get(server);
      if (!pace) continue;
      pace.announcedAt = now;
      pace.announcements++;
    }
  }

  /** Returns the milliseconds until a change of these servers may be announced: those of the server that has to wait least. */
  waitMs(servers: Iterable<string>, now: number): number {
    const waits = Array.from(servers, (server) => this.#waitOf(this.#paces.get(server), now));
    return waits.length === 0 ? 0 : Math.min(...waits);
  }

  #waitOf(pace: Pace | undefined, now: number): number {
    if (!pace || pace.announcements < atOnce) return 0;
    return Math.max(0, pace.announcedAt + periodMs - now);
  }
}
