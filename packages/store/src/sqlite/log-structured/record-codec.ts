import { crc32 } from 'node:zlib';
import type { Outcome } from '../../message.ts';
import type { Ending, LoggedMessage, SharedFields } from './logged-message.ts';

/**
 * A record as it is stored: blocks of operations on messages, and the bodies of its messages one after the other. The commit log
 * holds one for each commit; a segment is one, too, which makes exactly the messages of the segment.
 *
 * Each block is a line of `entries`, with a checksum over the rest of the line and one over the bodies of its messages. So damage
 * costs the messages of one block. Blocks are small for that reason, and hold several small messages because each checksum is a call
 * that costs about as much as encoding a message.
 */
export interface EncodedRecord {
  entries: string;
  bodies: string;
}

/** A block is ended after so many entries, */
const blockEntries = 48;
/** or after so many UTF-16 units of bodies. */
const blockBodies = 4096;

/** What a line holds behind its checksum, as a JSON array. Bodies are counted in UTF-16 units. */
type Block = [
  number: number,
  isLast: 0 | 1,
  bodiesStart: number,
  bodiesLength: number,
  bodiesChecksum: number,
  ...entries: Entry[],
];

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
  openUntil?: number | null,
  isCounted?: true,
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
  /** A message whose body was damaged has none: see `hasLostBody`. */
  put(message: LoggedMessage): void;
  settle(inbox: string, seq: number, ending: Ending, answered: boolean): void;
  setAttempts(inbox: string, seq: number, attempts: number): void;
  setAnswered(inbox: string, seq: number): void;
}

/** Collects operations as they happen, and encodes them. */
export class RecordEncoder {
  #lines: string[] = [];
  #bodies = '';
  #blockBodies = '';
  #entries: Entry[] = [];
  #shared: SharedFields | undefined;
  #ending: Ending | undefined;
  #settledIn: string | undefined;
  #isAnswered = false;

  get isEmpty(): boolean {
    return this.#entries.length === 0 && this.#lines.length === 0;
  }

  put(message: LoggedMessage): void {
    this.#makeRoom();
    if (message.shared !== this.#shared) this.#share(message.shared);
    const { seq, size, id, body, correlationId, traceparent } = message;
    const bodyLength = body === undefined ? null : body.length;
    if (traceparent !== undefined)
      this.#entries.push([seq, size, bodyLength, id, correlationId ?? null, traceparent]);
    else if (correlationId !== undefined) this.#entries.push([seq, size, bodyLength, id, correlationId]);
    else this.#entries.push([seq, size, bodyLength, id]);
    if (body !== undefined) this.#blockBodies += body;
  }

  settle({ seq, shared: { inbox }, answered }: LoggedMessage, ending: Ending): void {
    this.#makeRoom();
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
    this.#makeRoom();
    this.#entries.push(['attempts', inbox, seq, attempts]);
  }

  setAnswered({ seq, shared: { inbox } }: LoggedMessage): void {
    this.#makeRoom();
    this.#entries.push(['answered', inbox, seq]);
  }

  /** The record of all operations since the last call. Only {@link decodeRecord} with the same `place` reads it. */
  take(place: number): EncodedRecord {
    this.#endBlock(true);
    let entries = '';
    for (const line of this.#lines) entries += `${entries === '' ? '' : '\n'}${crc32(line, place)} ${line}`;
    const record = { entries, bodies: this.#bodies };
    this.clear();
    return record;
  }

  clear(): void {
    this.#lines = [];
    this.#bodies = '';
    this.#blockBodies = '';
    this.#entries = [];
    this.#shared = undefined;
    this.#ending = undefined;
    this.#settledIn = undefined;
  }

  #makeRoom(): void {
    if (this.#entries.length >= blockEntries || this.#blockBodies.length >= blockBodies)
      this.#endBlock(false);
  }

  /** Nothing of a block is needed to read the next one. */
  #endBlock(isLast: boolean): void {
    const bodies = this.#blockBodies;
    const checksum = bodies === '' ? 0 : crc32(bodies);
    const place = [this.#lines.length, isLast ? 1 : 0, this.#bodies.length, bodies.length, checksum] as const;
    const block: Block = [...place, ...this.#entries];
    this.#lines.push(JSON.stringify(block));
    this.#bodies += bodies;
    this.#blockBodies = '';
    this.#entries = [];
    this.#shared = undefined;
    this.#ending = undefined;
    this.#settledIn = undefined;
    this.#isAnswered = false;
  }

  #share(shared: SharedFields): void {
    const { inbox, sender, senderAddress, senderRole, tokenId, kind, createdAt, expiresAt } = shared;
    const { openUntil, isCounted } = shared;
    const from = [sender, senderAddress, senderRole, tokenId ?? null] as const;
    const entry: Shared = ['shared', inbox, ...from, kind, createdAt, expiresAt];
    if (openUntil !== undefined || isCounted) entry.push(openUntil ?? null);
    if (isCounted) entry.push(true);
    this.#entries.push(entry);
    this.#shared = shared;
  }
}

/**
 * Reads a record that {@link RecordEncoder.take} made for this place. Returns false if blocks are missing or unreadable: the
 * operations of the others were read. A message whose body alone was damaged is read without it.
 */
export function decodeRecord(record: EncodedRecord, place: number, reader: RecordReader): boolean {
  const { entries, bodies } = record;
  // Damage may make another type of a value.
  if (typeof entries !== 'string' || typeof bodies !== 'string') return false;
  const isPlain = !entries.includes('\n');
  const blocks = isPlain
    ? [readLine(entries, place)]
    : entries.split('\n').map((line) => readLine(line, place));
  const isWhole = blocks.every((block, n) => block?.[0] === n) && blocks.at(-1)?.[1] === 1;
  const last = blocks.at(-1);
  // Damage may change how many units a text has. Behind it the bodies are shifted by the difference.
  const shift = last ? bodies.length - (last[2] + last[3]) : 0;
  for (const block of blocks) if (block) readBlock(block, bodies, shift, reader);
  return isWhole;
}

/** Undefined if the line is damaged. */
function readLine(line: string, place: number): Block | undefined {
  const space = line.indexOf(' ');
  const json = line.slice(space + 1);
  return space > 0 && line.slice(0, space) === String(crc32(json, place))
    ? (JSON.parse(json) as Block)
    : undefined;
}

function readBlock(block: Block, bodies: string, shift: number, reader: RecordReader): void {
  const [, , start, length, checksum] = block;
  const own = bodiesOf(bodies, start, length, checksum) ?? bodiesOf(bodies, start + shift, length, checksum);
  let shared: SharedFields | undefined;
  let settled: { inbox: string; ending: Ending; answered: boolean } | undefined;
  let bodyStart = 0;
  for (let at = 5; at < block.length; at++) {
    const entry = block[at] as Entry;
    if (typeof entry === 'number') {
      if (settled) reader.settle(settled.inbox, entry, settled.ending, settled.answered);
    } else if (entry[0] === 'shared') {
      shared = readShared(entry);
    } else if (entry[0] === 'settled') {
      const [, inbox, endedAt, outcome, reason, answered = false] = entry;
      settled = { inbox, ending: { at: endedAt, outcome, reason }, answered };
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
        body: bodyLength === null ? undefined : bodyLength === 0 ? '' : own?.slice(bodyStart, bodyEnd),
        attempts: 0,
        answered: false,
        ending: undefined,
      });
      bodyStart = bodyEnd;
    }
  }
}

/** Undefined if they are damaged. */
function bodiesOf(bodies: string, start: number, length: number, checksum: number): string | undefined {
  if (length === 0) return '';
  const own = bodies.slice(start, start + length);
  return crc32(own) === checksum ? own : undefined;
}

/** Encodes messages as they are now: the record of a segment. */
export function encodeMessages(messages: readonly LoggedMessage[], place: number): EncodedRecord {
  const encoder = new RecordEncoder();
  for (const message of messages) encoder.put(message);
  for (const message of messages) {
    if (message.attempts > 0) encoder.setAttempts(message);
    if (message.ending !== undefined) encoder.settle(message, message.ending);
    else if (message.answered) encoder.setAnswered(message);
  }
  return encoder.take(place);
}

/**
 * The messages that a record of {@link encodeMessages} makes, in the order in which they were given. If it is not whole, some are
 * missing, and others have lost how they ended.
 */
export function decodeMessages(
  record: EncodedRecord,
  place: number,
): { messages: LoggedMessage[]; isWhole: boolean } {
  const messages: LoggedMessage[] = [];
  // Its operations after the puts are in the order of the messages.
  let next = 0;
  const find = (seq: number): LoggedMessage | undefined => {
    const from = next;
    while (next < messages.length && messages[next]?.seq !== seq) next++;
    const found = messages[next];
    // The message is in a damaged block.
    if (!found) next = from;
    return found;
  };
  const isWhole = decodeRecord(record, place, {
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
  return { messages, isWhole };
}

function readShared(entry: Shared): SharedFields {
  const [, inbox, sender, senderAddress, senderRole, tokenId, kind, createdAt, expiresAt] = entry;
  const [openUntil, isCounted = false] = entry.slice(9) as [(number | null)?, boolean?];
  const from = { sender, senderAddress, senderRole, tokenId: tokenId ?? undefined };
  return { inbox, ...from, kind, createdAt, expiresAt, openUntil: openUntil ?? undefined, isCounted };
}
