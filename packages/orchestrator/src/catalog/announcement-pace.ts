/** The number of changes of a list that are announced at once before its announcements are spaced. */
const atOnce = 3;
/** The time between two spaced announcements, and the time without a change that ends the spacing, in milliseconds. */
const periodMs = 60_000;

/** What is known of a list that has changed. Times are in monotonic milliseconds. */
interface Pace {
  changedAt: number;
  announcedAt: number;
  /** The number of its announcements since it last had a quiet time. */
  announcements: number;
}

/**
 * Spaces the announcements of lists that keep changing: the first three changes after a quiet minute are announced at once, and then one
 * a minute. Each list of each server has a pace of its own. `now` is in monotonic milliseconds.
 */
export class AnnouncementPace {
  readonly #paces = new Map<string, Pace>();

  /** Records that these lists have changed. */
  changed(lists: Iterable<string>, now: number): void {
    for (const [list, { changedAt }] of this.#paces)
      if (now - changedAt >= periodMs) this.#paces.delete(list);
    for (const list of lists) {
      const pace = this.#paces.get(list);
      if (pace) pace.changedAt = now;
      else this.#paces.set(list, { changedAt: now, announcedAt: now, announcements: 0 });
    }
  }

  /** Records that the changes of these lists are announced now. */
  announced(lists: Iterable<string>, now: number): void {
    for (const list of lists) {
      const pace = this.#paces.get(list);
      if (!pace) continue;
      pace.announcedAt = now;
      pace.announcements++;
    }
  }

  /** Returns the milliseconds until a change of these lists may be announced: those of the list that has to wait least. */
  waitMs(lists: Iterable<string>, now: number): number {
    const waits = Array.from(lists, (list) => this.#waitOf(this.#paces.get(list), now));
    return waits.length === 0 ? 0 : Math.min(...waits);
  }

  #waitOf(pace: Pace | undefined, now: number): number {
    if (!pace || pace.announcements < atOnce) return 0;
    return Math.max(0, pace.announcedAt + periodMs - now);
  }
}
