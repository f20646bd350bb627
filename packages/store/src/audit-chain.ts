import { hash as digest } from 'node:crypto';
import { type AuditChain, type AuditEvent, type AuditRow, auditKinds } from './audit-log.ts';

/** The hash before the first row of every chain. */
export const firstHash = '0'.repeat(64);

const maxDetail = 500;
const maxName = 256;

/** An event as it is written, with the number of times that it happened and the first time. */
export interface CountedEvent extends AuditEvent {
  firstAt?: number;
}

/**
 * Makes the row of an event, which follows the row with the hash `previous`. `recordedAt` never decreases, since rows are searched by it;
 * therefore it is part of the hashed text.
 */
export function auditRow(
  event: CountedEvent,
  { number, recordedAt, previous }: { number: number; recordedAt: number; previous: string },
): AuditRow {
  const { kind, at, firstAt, code, tokenId, agent, role, name, detail, count, facts } = event;
  const entry = JSON.stringify({
    number,
    kind,
    at,
    ...(recordedAt !== at && { recorded_at: recordedAt }),
    ...(firstAt !== undefined && firstAt !== at && { first_at: firstAt }),
    ...(count !== undefined && count > 1 && { count }),
    code,
    token_id: tokenId,
    agent,
    role,
    name: name?.slice(0, maxName),
    ...(detail !== '' && { detail: detail.slice(0, maxDetail) }),
    ...facts,
    previous,
  });
  return { kind, number, entry, hash: hashOf(entry) };
}

/** Returns the SHA-256 of an entry's text, in hex. */
function hashOf(entry: string): string {
  return digest('sha256', entry, 'hex');
}

/**
 * Checks the rows of one chain, page by page. It finds rows that were changed, removed or inserted by hand. If somebody who can write the
 * file makes the whole chain anew, only a hash that was noted elsewhere before shows that.
 */
export class AuditChainCheck {
  #after = 0;
  #expected = firstHash;

  /** The number of the row behind which the next page begins. */
  get after(): number {
    return this.#after;
  }

  /** Checks the next page. Returns the problem of its first broken row, if there is one. `isLast` is true if no rows follow. */
  check(rows: readonly AuditRow[], chain: AuditChain, isLast: boolean): string | undefined {
    const { kind, dropped } = chain;
    if (auditKinds[kind].kept && dropped.number > 0)
      return `rows of kind '${kind}' up to row ${dropped.number} were taken out: rows of this kind are never dropped`;
    if (dropped.number === 0 && dropped.hash !== firstHash)
      return `the beginning of kind '${kind}' was changed: no row of it was dropped, and another hash stands before its first row`;
    // Rows that were dropped since the page before can't be checked any more.
    if (dropped.number > this.#after) this.#continueBehind(dropped);
    for (const row of rows) {
      const problem = this.#problemOf(row);
      if (problem !== undefined) return `row ${row.number} of kind '${row.kind}' ${problem}`;
      this.#continueBehind(row);
    }
    if (!isLast || (chain.last.number === this.#after && chain.last.hash === this.#expected))
      return undefined;
    return `rows of kind '${kind}' behind row ${this.#after} are missing: the last one was row ${chain.last.number}`;
  }

  #problemOf({ number, kind, entry, hash }: AuditRow): string | undefined {
    if (hashOf(entry) !== hash) return 'was changed: its hash is another one';
    const read = parse(entry);
    if (read?.number !== number || read.kind !== kind) return 'was put in another place: its entry says so';
    if (read.previous === this.#expected) return undefined;
    return this.#after === 0
      ? 'does not follow the beginning of the log: rows before it were changed, put in or taken out'
      : `does not follow row ${this.#after}: rows between them were changed, put in or taken out`;
  }

  #continueBehind({ number, hash }: { number: number; hash: string }): void {
    this.#after = number;
    this.#expected = hash;
  }
}

function parse(entry: string): { number?: unknown; kind?: unknown; previous?: unknown } | undefined {
  try {
    return JSON.parse(entry) ?? undefined;
  } catch {
    return undefined;
  }
}
