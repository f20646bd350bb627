import type { Session } from '../session/session.ts';

/** The sessions that said hello, by the order in which `list_connected` tells them. */
export class SessionTable {
  readonly #sessions = new Set<Session>();

  get size(): number {
    return this.#sessions.size;
  }

  add(session: Session): void {
    this.#sessions.add(session);
  }

  remove(session: Session): void {
    this.#sessions.delete(session);
  }

  /** Ends every session whose token is no longer good. */
  endWhere(isDead: (session: Session) => boolean, why: string): void {
    for (const session of [...this.#sessions]) if (isDead(session)) session.end('unauthorized', why);
  }

  /** Sessions after `cursor` in address order, at most `limit`. A cursor is the last session's key. */
  page(cursor: string, limit: number): { sessions: Session[]; cursor?: string } {
    const rest = [...this.#sessions].filter((session) => session.key > cursor);
    rest.sort((a, b) => (a.key < b.key ? -1 : 1));
    const sessions = rest.slice(0, limit);
    const last = sessions.at(-1);
    return rest.length > limit && last ? { sessions, cursor: last.key } : { sessions };
  }
}
