import type { Outcome } from '../../message.ts';
import type { Ending, LoggedMessage, SharedFields } from './logged-message.ts';

/**
 * A record as it is stored: operations on messages as a JSON array, and the bodies of its messages one after the other. The
 * commit log holds one for each commit; a segment is one, too, which makes exactly the messages of the segment.
 */
export interface EncodedRecord {
  entries: string;
  bodies: string;
}

/** What the messages after it, up to the next one, share. */
type Shared = [
  'shared',
  inbox: string,
  sender: string,
  senderAddress: string,
  senderRole: string,
  tokenId: string | null,
  kind: string,
  createdAt: number,
  expiresAt: number,
  openUntil?: number,
];

/** A message is put; `bodyLength` in UTF-16 units, null without a body. */
type Put = [
  seq: number,
  size: number,
  bodyLength: number | null,
  id: string,
  correlationId?: string | null,
  traceparent?: string,
];

/** How the messages are settled whose sequence numbers follow, up to the next one. `answered` is given if they are answered requests. */
type Settled = [
  'settled',
  inbox: string,
  at: number,
  outcome: Outcome,
  reason: string | null,
  answered?: true,
];

type Attempts = ['attempts', inbox: string, seq: number, attempts: number];

/** A request was answered and not settled in the same commit. */
type Answered = ['answered', inbox: string, seq: number];

type Entry = Shared | Put | Settled | number | Attempts | Answered;

/** Receives the operations of a record in their order. */
export interface RecordReader {
  put(message: LoggedMessage): void;
  settle(inbox: string, seq: number, ending: Ending, answered: boolean): void;
  setAttempts(inbox: string, seq: number, attempts: number): void;
  setAnswered(inbox: string, seq: number): void;
}

/** Collects operations as they happen, and encodes them. */
export class RecordEncoder {
  #entries: Entry[] = [];
  #bodies = '';
  #shared: SharedFields | undefined;
  #ending: Ending | undefined;
  #settledIn: string | undefined;
  #isAnswered = false;

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  put(message: LoggedMessage): void {
    if (message.shared !== this.#shared) this.#share(message.shared);
    const { seq, size, id, body, correlationId, traceparent } = message;
    const bodyLength = body === undefined ? null : body.length;
    if (traceparent !== undefined)
      this.#entries.push([seq, size, bodyLength, id, correlationId ?? null, traceparent]);
    else if (correlationId !== undefined) this.#entries.push([seq, size, bodyLength, id, correlationId]);
    else this.#entries.push([seq, size, bodyLength, id]);
    if (body !== undefined) this.#bodies += body;
  }

  settle({ seq, shared: { inbox }, answered }: LoggedMessage, ending: Ending): void {
    if (ending !== this.#ending || inbox !== this.#settledIn || answered !== this.#isAnswered) {
      const { at, outcome, reason } = ending;
      if (answered) this.#entries.push(['settled', inbox, at, outcome, reason, true]);
      else this.#entries.push(['settled', inbox, at, outcome, reason]);
      this.#ending = ending;
      this.#settledIn = inbox;
      this.#isAnswered = answered;
    }
    this.#entries.push(seq);
  }

  setAttempts({ seq, shared: { inbox }, attempts }: LoggedMessage): void {
    this.#entries.push(['attempts', inbox, seq, attempts]);
  }

  setAnswered({ seq, shared: { inbox } }: LoggedMessage): void {
    this.#entries.push(['answered', inbox, seq]);
  }

  /** The record of all operations since the last call. A checksum over both texts belongs here. */
  take(): EncodedRecord {
    const record = { entries: JSON.stringify(this.#entries), bodies: this.#bodies };
    this.clear();
    return record;
  }

  clear(): void {
    this.#entries = [];
    this.#bodies = '';
    this.#shared = undefined;
    this.#ending = undefined;
    this.#settledIn = undefined;
    this.#isAnswered = false;
  }

  #share(shared: SharedFields): void {
    const { inbox, sender, senderAddress, senderRole, tokenId, kind, createdAt, expiresAt, openUntil } =
      shared;
    const from = [sender, senderAddress, senderRole, tokenId ?? null] as const;
    if (openUntil === undefined) this.#entries.push(['shared', inbox, ...from, kind, createdAt, expiresAt]);
    else this.#entries.push(['shared', inbox, ...from, kind, createdAt, expiresAt, openUntil]);
    this.#shared = shared;
  }
}

/** Reads a record; the counterpart of {@link RecordEncoder.take}, where a checksum is to be verified. */
export function decodeRecord({ entries, bodies }: EncodedRecord, reader: RecordReader): void {
  let shared: SharedFields | undefined;
  let settled: { inbox: string; ending: Ending; answered: boolean } | undefined;
  let bodyStart = 0;
  for (const entry of JSON.parse(entries) as Entry[]) {
    if (typeof entry === 'number') {
      if (settled) reader.settle(settled.inbox, entry, settled.ending, settled.answered);
    } else if (entry[0] === 'shared') {
      shared = readShared(entry);
    } else if (entry[0] === 'settled') {
      const [, inbox, at, outcome, reason, answered = false] = entry;
      settled = { inbox, ending: { at, outcome, reason }, answered };
    } else if (entry[0] === 'attempts') {
      reader.setAttempts(entry[1], entry[2], entry[3]);
    } else if (entry[0] === 'answered') {
      reader.setAnswered(entry[1], entry[2]);
    } else if (shared) {
      const [seq, size, bodyLength, id, correlationId, traceparent] = entry;
      const bodyEnd = bodyStart + (bodyLength ?? 0);
      reader.put({
        seq,
        shared,
        id,
        correlationId: correlationId ?? undefined,
        traceparent,
        size,
        body: bodyLength === null ? undefined : bodies.slice(bodyStart, bodyEnd),
        attempts: 0,
        answered: false,
        ending: undefined,
      });
      bodyStart = bodyEnd;
    }
  }
}

/** Encodes messages as they are now: the record of a segment. Of settled ones the number of attempts is not kept. */
export function encodeMessages(messages: readonly LoggedMessage[]): EncodedRecord {
  const encoder = new RecordEncoder();
  for (const message of messages) encoder.put(message);
  for (const message of messages) {
    if (message.ending !== undefined) {
      encoder.settle(message, message.ending);
      continue;
    }
    if (message.attempts > 0) encoder.setAttempts(message);
    if (message.answered) encoder.setAnswered(message);
  }
  return encoder.take();
}

/** The messages that a record of {@link encodeMessages} makes, in the order in which they were given. */
export function decodeMessages(record: EncodedRecord): LoggedMessage[] {
  const messages: LoggedMessage[] = [];
  // Its operations after the puts are in the order of the messages.
  let at = 0;
  const find = (seq: number): LoggedMessage | undefined => {
    while (at < messages.length && messages[at]?.seq !== seq) at++;
    return messages[at];
  };
  decodeRecord(record, {
    put: (message) => messages.push(message),
    setAttempts(_, seq, attempts) {
      const message = find(seq);
      if (message) message.attempts = attempts;
    },
    setAnswered(_, seq) {
      const message = find(seq);
      if (message) message.answered = true;
    },
    settle(_, seq, ending, answered) {
      const message = find(seq);
      if (!message) return;
      message.ending = ending;
      message.answered = answered;
    },
  });
  return messages;
}

function readShared(entry: Shared): SharedFields {
  const [, inbox, sender, senderAddress, senderRole, tokenId, kind, createdAt, expiresAt, openUntil] = entry;
  const from = { sender, senderAddress, senderRole, tokenId: tokenId ?? undefined };
  return { inbox, ...from, kind, createdAt, expiresAt, openUntil };
}
