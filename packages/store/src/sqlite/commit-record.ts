import type { NewMessage } from '../inbox-store.ts';
import type { RecentMessage } from './recent-messages.ts';
import type { Ending } from './settled-message.ts';

type Header = Omit<NewMessage, 'body' | 'settles' | 'unread'>;

/** One thing that happened to a recent message; `bodyLength` in UTF-16 units, absent without a body. */
type Entry =
  | { seq: number; size: number; message: Header; bodyLength?: number }
  | { seq: number; inbox: string; ending: Ending }
  | { seq: number; inbox: string; attempts: number }
  | { seq: number; inbox: string; moved: true };

/** A record as it is stored: what happened, as JSON, and the bodies of what came, one after the other. */
export interface RecordText {
  entries: string;
  bodies: string;
}

/** What one commit did to recent messages, in order. */
export class CommitRecord {
  #entries: Entry[] = [];
  #bodies = '';

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  added(seq: number, { body, settles, unread, ...message }: NewMessage, size: number): void {
    if (body === undefined) this.#entries.push({ seq, size, message });
    else {
      this.#entries.push({ seq, size, message, bodyLength: body.length });
      this.#bodies += body;
    }
  }

  ended({ seq, message: { inbox } }: RecentMessage, ending: Ending): void {
    this.#entries.push({ seq, inbox, ending });
  }

  tried({ seq, message: { inbox }, attempts }: RecentMessage): void {
    this.#entries.push({ seq, inbox, attempts });
  }

  /** It went to the table of unsettled messages before the others of its own record. */
  moved({ seq, message: { inbox } }: RecentMessage): void {
    this.#entries.push({ seq, inbox, moved: true });
  }

  /** Empties it. */
  take(): RecordText {
    const text = { entries: JSON.stringify(this.#entries), bodies: this.#bodies };
    this.clear();
    return text;
  }

  clear(): void {
    this.#entries = [];
    this.#bodies = '';
  }
}

/** Who is told what a record says, in the order in which it happened. */
export interface RecordReader {
  added(seq: number, message: NewMessage, size: number): void;
  ended(inbox: string, seq: number, ending: Ending): void;
  tried(inbox: string, seq: number, attempts: number): void;
  moved(inbox: string, seq: number): void;
}

export function readRecord({ entries, bodies }: RecordText, reader: RecordReader): void {
  let at = 0;
  for (const entry of JSON.parse(entries) as Entry[]) {
    if ('ending' in entry) reader.ended(entry.inbox, entry.seq, entry.ending);
    else if ('attempts' in entry) reader.tried(entry.inbox, entry.seq, entry.attempts);
    else if ('moved' in entry) reader.moved(entry.inbox, entry.seq);
    else {
      const { seq, size, message, bodyLength } = entry;
      const body = bodyLength === undefined ? {} : { body: bodies.slice(at, at + bodyLength) };
      reader.added(seq, { ...message, ...body }, size);
      at += bodyLength ?? 0;
    }
  }
}
