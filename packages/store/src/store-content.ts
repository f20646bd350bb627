import { createHash, hash as hashOf } from 'node:crypto';
import type { AuditChain, AuditRow } from './audit-log.ts';
import type { KeptBody } from './kept-bodies.ts';
import type { LoggedMessage } from './logged-message.ts';
import type { ForgottenRequest } from './open-requests.ts';
import type { HoldRecord, TokenRecord } from './token-store.ts';

/** The content of a broker's stores, by kind, in the form in which it is copied to other stores. */
export interface ContentItems {
  /**
   * The broker's id, the time that it has stored, the first number that was never given out, and the time when it was restored from a
   * backup.
   */
  fact: { key: 'identity' | 'time' | 'next_number' | 'restored_at'; value: string };
  /** Pending messages with bodies, and settled ones, which have none. */
  message: LoggedMessage;
  scheduled: { message: LoggedMessage; sentAt: number };
  dead_letter: LoggedMessage;
  /** The words of bodies are not copied: they follow from the bodies. */
  kept_body: KeptBody;
  /** Requests of which nothing else is stored. */
  request: ForgottenRequest & { requester: string; id: string; inbox: string };
  journal: { inbox: string; generation: string; foreignUpTo: number; epoch: string };
  token: TokenRecord;
  hold: HoldRecord;
  agent: { name: string };
  audit_row: AuditRow;
  audit_chain: AuditChain;
  audit_batch: { sender: string; id: string };
}

/** A kind of content. */
export type ContentKind = keyof ContentItems;

/** Some items of one kind that fit into memory. */
export type ContentPart = {
  [Kind in ContentKind]: { kind: Kind; items: readonly ContentItems[Kind][] };
}[ContentKind];

/** One item with its kind. */
export type ContentEntry = { [Kind in ContentKind]: [kind: Kind, item: ContentItems[Kind]] }[ContentKind];

/** The number of items of each kind. Kinds without items are absent. */
export type ContentCounts = Partial<Record<ContentKind, number>>;

/**
 * Counts items, and computes one hash over the items of each kind and their bodies, in any order: the sum of their SHA-256. Two stores with
 * the same content have the same hashes.
 */
export class ContentDigest {
  readonly #kinds = new Map<ContentKind, { count: number; sum: bigint }>();

  /** Adds items. `bodies` says whether the messages have the SHA-256 of their bodies, in hex, in place of the bodies. */
  add({ kind, items }: ContentPart, bodies: 'whole' | 'hashed' = 'whole'): void {
    const of = this.#kinds.get(kind) ?? { count: 0, sum: 0n };
    this.#kinds.set(kind, of);
    of.count += items.length;
    for (const item of items) {
      const text = JSON.stringify(plainOf(kind, item, bodies), inOrder);
      of.sum = BigInt.asUintN(256, of.sum + BigInt(`0x${hashOf('sha256', text, 'hex')}`));
    }
  }

  get counts(): ContentCounts {
    return Object.fromEntries([...this.#kinds].map(([kind, { count }]) => [kind, count]));
  }

  /** A single hash over everything, in hex. */
  get hash(): string {
    const whole = createHash('sha256');
    for (const [kind, { count, sum }] of [...this.#kinds].sort(([a], [b]) => (a < b ? -1 : 1)))
      whole.update(`${kind} ${count} ${sum.toString(16)}\n`);
    return whole.digest('hex');
  }

  /** Returns the kinds whose items differ from those of the other digest. */
  differencesTo(other: ContentDigest): ContentKind[] {
    return [...new Set([...this.#kinds.keys(), ...other.#kinds.keys()])].filter((kind) => {
      const [one, two] = [this.#kinds.get(kind), other.#kinds.get(kind)];
      return one?.count !== two?.count || one?.sum !== two?.sum;
    });
  }
}

type Item = ContentPart['items'][number];

/** Returns the value of an item that is hashed. */
function plainOf(kind: ContentKind, item: Item, bodies: 'whole' | 'hashed'): unknown {
  if ('shared' in item) return plainMessage(item, bodies, kind === 'message' && item.ending !== undefined);
  if ('message' in item) return [plainMessage(item.message, bodies, false), item.sentAt];
  if ('body' in item) return { ...item, body: hashedBody(item.body, bodies) };
  return item;
}

/**
 * Returns the fields that every store keeps. For a settled message these exclude its token, its attempts, and whether it counts against its
 * sender. A NUL in a reason counts as U+FFFD, since some stores can't hold a NUL.
 */
function plainMessage(message: LoggedMessage, bodies: 'whole' | 'hashed', isSettled: boolean): unknown {
  const { seq, shared, id, correlationId, traceparent, group, thread, size, body, ending } = message;
  const { tokenId, isCounted, ...known } = shared;
  const { attempts, answered, takers } = message;
  return {
    seq,
    shared: known,
    id,
    correlationId,
    traceparent,
    group,
    thread,
    size,
    body: body === undefined ? undefined : hashedBody(body, bodies),
    ...(!isSettled && { tokenId, isCounted, attempts }),
    answered,
    takers,
    ending: ending && { ...ending, reason: ending.reason?.replaceAll('\0', '\ufffd') },
  };
}

function hashedBody(body: string, bodies: 'whole' | 'hashed'): string {
  return bodies === 'hashed' ? body : hashOf('sha256', body, 'hex');
}

/** Makes JSON write the fields of objects in the order of their names. */
function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
