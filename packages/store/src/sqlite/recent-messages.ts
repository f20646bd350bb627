import type { NewMessage, StoredMessage, StoredMetadata } from '../inbox-store.ts';
import type { Ending, Settled } from './settled-message.ts';

/** A message that came lately, settled or not. */
export interface RecentMessage {
  readonly seq: number;
  /** Without its body once it is settled. */
  message: NewMessage;
  readonly size: number;
  /** Number of the record that it came with. */
  readonly record: number;
  /** Bytes of its body there; 0 for one that was settled after it had been in the table. */
  readonly recorded: number;
  /** Since when it has been recent. */
  readonly since: number;
  attempts: number;
  /** Absent while it is not settled. */
  ending?: Ending;
}

/** What came lately, in memory. Knows nothing of what is on disk. */
export class RecentMessages {
  readonly #bySeq = new Map<number, RecentMessage>();
  readonly #byKey = new Map<string, RecentMessage>();
  /** Those that are not settled, each in order. */
  readonly #byInbox = new Map<string, Map<number, RecentMessage>>();
  #recorded = 0;

  /** Bytes of all bodies in their records. */
  get recorded(): number {
    return this.#recorded;
  }
  get size(): number {
    return this.#bySeq.size;
  }

  /** In the order of their records. */
  all(): IterableIterator<RecentMessage> {
    return this.#bySeq.values();
  }

  add(recent: RecentMessage): void {
    const { seq, message } = recent;
    this.#recorded += recent.recorded;
    this.#bySeq.set(seq, recent);
    this.#byKey.set(keyOf(message.id, message.inbox, message.sender), recent);
    let inbox = this.#byInbox.get(message.inbox);
    if (!inbox) {
      inbox = new Map();
      this.#byInbox.set(message.inbox, inbox);
    }
    inbox.set(seq, recent);
  }

  find(id: string, inbox: string, sender: string): RecentMessage | undefined {
    return this.#byKey.get(keyOf(id, inbox, sender));
  }

  /** One that is not settled and in this inbox. */
  unsettled(inbox: string, seq: number): RecentMessage | undefined {
    return this.#byInbox.get(inbox)?.get(seq);
  }

  unsettledOf(inbox: string): Iterable<RecentMessage> {
    return this.#byInbox.get(inbox)?.values() ?? [];
  }

  unsettledCount(inbox: string): number {
    return this.#byInbox.get(inbox)?.size ?? 0;
  }

  unsettledWhere(isMeant: (recent: RecentMessage) => boolean): RecentMessage[] {
    return [...this.#bySeq.values()].filter((recent) => !recent.ending && isMeant(recent));
  }

  /** Those with unsettled messages. */
  inboxes(): string[] {
    return [...this.#byInbox].filter(([, unsettled]) => unsettled.size > 0).map(([inbox]) => inbox);
  }

  settle(recent: RecentMessage, ending: Ending): void {
    recent.ending = ending;
    const { body, ...message } = recent.message;
    if (body !== undefined) recent.message = message;
    this.#byInbox.get(recent.message.inbox)?.delete(recent.seq);
  }

  remove(recent: RecentMessage): void {
    const { seq, message } = recent;
    const { id, inbox, sender } = message;
    this.#recorded -= recent.recorded;
    this.#bySeq.delete(seq);
    const key = keyOf(id, inbox, sender);
    // A dead letter that came back has its id.
    if (this.#byKey.get(key) === recent) this.#byKey.delete(key);
    const unsettled = this.#byInbox.get(inbox);
    unsettled?.delete(seq);
    if (unsettled?.size === 0) this.#byInbox.delete(inbox);
  }

  clear(): void {
    this.#bySeq.clear();
    this.#byKey.clear();
    this.#byInbox.clear();
    this.#recorded = 0;
  }
}

export function storedOf({ seq, message, size, attempts }: RecentMessage): StoredMessage {
  const { settles, tokenId, unread, ...rest } = message;
  return { ...rest, seq, size, attempts };
}

export function metadataOf(recent: RecentMessage): StoredMetadata {
  const { body, ...metadata } = storedOf(recent);
  return metadata;
}

/** None while it is not settled. */
export function settledOf({ seq, message, size, ending }: RecentMessage): Settled[] {
  if (!ending) return [];
  const { id, inbox, sender, senderAddress, kind, correlationId = null, createdAt } = message;
  return [{ id, inbox, sender, senderAddress, kind, correlationId, seq, size, createdAt, ...ending }];
}

function keyOf(id: string, inbox: string, sender: string): string {
  return `${id} ${inbox} ${sender}`;
}
