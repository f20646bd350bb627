import { crc32 } from 'node:zlib';
import { type Ending, type LoggedMessage, type SharedFields, withTaker } from '../../logged-message.ts';
import type { GroupFields, Outcome } from '../../message.ts';

/**
 * A record in its stored form: blocks of operations on messages, and the bodies of its messages one after the other, in UTF-8. The commit
 * log has one record for each commit. A segment is a record, too, whose operations make exactly the messages of the segment.
 *
 * Each block is a line of `entries`, with a checksum over the rest of the line. The line has a checksum for each part of the bodies of its
 * messages. So damage to a line costs the operations of one block, and damage to bodies costs the few messages in one part. A checksum for
 * each message would cost about as much as encoding the message.
 */
export interface EncodedRecord {
  entries: string;
  bodies: Buffer;
}

/** The number of entries after which a block ends. */
const blockEntries = 80;
/** The bytes of bodies that share one checksum. */
const partBytes = 4096;

/** The JSON array that follows the checksum in a line. The bodies of a block begin at a byte of the record's bodies. */
type Block = [
  number: number,
  isLast: 0 | 1,
  bodiesStart: number,
  bodiesEnd: number,
  bodiesChecksums: readonly number[],
  ...entries: Entry[],
];
/** The place of the first entry in a block. */
const firstEntry = 5;

/** The initial room of an encoder for bodies, in bytes. */
const usualBytes = 64 * 1024;
/** The most room that an encoder keeps for its next record, in bytes. */
const maxKeptBytes = 1024 * 1024;

/** The fields that the following messages share, up to the next entry of this type. */
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

/** Puts a message; `size` counts the bytes of the body that it has or had. */
type Put = [
  seq: number,
  size: number,
  hasBody: 0 | 1,
  id: string,
  correlationId?: string | null,
  traceparent?: string | null,
  group?: GroupFields | null,
  thread?: string,
];

/**
 * Settles the messages of the following sequence numbers, up to the next entry of this type. `answered` is set if they are answered
 * requests.
 */
type Settled = [
  'settled',
  inbox: string,
  at: number,
  outcome: Outcome,
  reason: string | null,
  answered?: true,
];

type Attempts = ['attempts', inbox: string, seq: number, attempts: number];

/** Marks a request as answered that is not settled in the same commit. */
type Answered = ['answered', inbox: string, seq: number];

/** Notes that a message of a group was handed to an agent. */
type Taken = ['taken', inbox: string, seq: number, agent: string];

type Entry = Shared | Put | Settled | number | Attempts | Answered | Taken;

/** Receives the operations of a record in their order. */
export interface RecordReader {
  /** Called with a message. If its body was damaged, it has none: see `hasLostBody`. */
  put(message: LoggedMessage): void;
  settle(inbox: string, seq: number, ending: Ending, answered: boolean): void;
  setAttempts(inbox: string, seq: number, attempts: number): void;
  setAnswered(inbox: string, seq: number): void;
  setTaken(inbox: string, seq: number, agent: string): void;
}

/** Collects operations in their order, and encodes them. */
export class RecordEncoder {
  #lines: string[] = [];
  /** The room for bodies, which is used again for the next record. */
  #bodies = Buffer.allocUnsafe(usualBytes);
  /** The number of bytes that are used of that room. */
  #written = 0;
  /** The first byte of the last block's bodies. */
  #blockStart = 0;
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
    const { seq, size, id, body, correlationId, traceparent, group, thread } = message;
    const hasBody = body === undefined ? 0 : 1;
    if (thread !== undefined)
      this.#entries.push([
        seq,
        size,
        hasBody,
        id,
        correlationId ?? null,
        traceparent ?? null,
        group ?? null,
        thread,
      ]);
    else if (group !== undefined)
      this.#entries.push([seq, size, hasBody, id, correlationId ?? null, traceparent ?? null, group]);
    else if (traceparent !== undefined)
      this.#entries.push([seq, size, hasBody, id, correlationId ?? null, traceparent]);
    else if (correlationId !== undefined) this.#entries.push([seq, size, hasBody, id, correlationId]);
    else this.#entries.push([seq, size, hasBody, id]);
    if (body !== undefined) this.#write(body, size);
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

  setTaken({ seq, shared: { inbox } }: LoggedMessage, agent: string): void {
    this.#makeRoom();
    this.#entries.push(['taken', inbox, seq, agent]);
  }

  /**
   * Returns the record of all operations since the last call. Only {@link decodeRecord} with the same `place` reads it. The next operation
   * overwrites its bodies.
   */
  take(place: number): EncodedRecord {
    this.#endBlock(true);
    let entries = '';
    for (const line of this.#lines) entries += `${entries === '' ? '' : '\n'}${crc32(line, place)} ${line}`;
    const record = { entries, bodies: this.#bodies.subarray(0, this.#written) };
    this.clear();
    return record;
  }

  clear(): void {
    this.#lines = [];
    if (this.#bodies.length > maxKeptBytes) this.#bodies = Buffer.allocUnsafe(usualBytes);
    this.#written = 0;
    this.#beginBlock();
  }

  #makeRoom(): void {
    if (this.#entries.length >= blockEntries) this.#endBlock(false);
  }

  /** Begins a block. Reading it needs nothing of the blocks before. */
  #beginBlock(): void {
    this.#entries = [];
    this.#blockStart = this.#written;
    this.#shared = undefined;
    this.#ending = undefined;
    this.#settledIn = undefined;
    this.#isAnswered = false;
  }

  #endBlock(isLast: boolean): void {
    const [start, end] = [this.#blockStart, this.#written];
    const checksums = checksumsOf(this.#bodies, start, end);
    const block: Block = [this.#lines.length, isLast ? 1 : 0, start, end, checksums, ...this.#entries];
    this.#lines.push(JSON.stringify(block));
    this.#beginBlock();
  }

  #write(body: string, size: number): void {
    const end = this.#written + size;
    if (end > this.#bodies.length) {
      const larger = Buffer.allocUnsafe(2 * end);
      this.#bodies.copy(larger, 0, 0, this.#written);
      this.#bodies = larger;
    }
    this.#bodies.write(body, this.#written, 'utf8');
    this.#written = end;
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
 * Reads a record that {@link RecordEncoder.take} made for this place. Returns false if blocks are missing or unreadable; the operations of
 * the others were read. A message with a damaged body is read without it.
 */
export function decodeRecord(record: EncodedRecord, place: number, reader: RecordReader): boolean {
  const { entries, bodies } = record;
  // Damage may change the type of a value.
  if (typeof entries !== 'string' || !Buffer.isBuffer(bodies)) return false;
  const isPlain = !entries.includes('\n');
  const blocks = isPlain
    ? [readLine(entries, place)]
    : entries.split('\n').map((line) => readLine(line, place));
  const isWhole = blocks.every((block, n) => block?.[0] === n) && blocks.at(-1)?.[1] === 1;
  for (const block of blocks) if (block) readBlock(block, bodies, reader);
  return isWhole;
}

/** Reads a line. Returns undefined if it is damaged. */
function readLine(line: string, place: number): Block | undefined {
  const space = line.indexOf(' ');
  const json = line.slice(space + 1);
  return space > 0 && line.slice(0, space) === String(crc32(json, place))
    ? (JSON.parse(json) as Block)
    : undefined;
}

function readBlock(block: Block, bodies: Buffer, reader: RecordReader): void {
  const [, , start, end, checksums] = block;
  const sound = checksumsOf(bodies, start, end).map((found, part) => found === checksums[part]);
  let shared: SharedFields | undefined;
  let settled: { inbox: string; ending: Ending; answered: boolean } | undefined;
  let bodyStart = start;
  for (let at = firstEntry; at < block.length; at++) {
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
    } else if (entry[0] === 'taken') {
      reader.setTaken(entry[1], entry[2], entry[3]);
    } else if (shared) {
      const [seq, size, hasBody, id, correlationId, traceparent, group, thread] = entry;
      reader.put({
        seq,
        shared,
        id,
        correlationId: correlationId ?? undefined,
        traceparent: traceparent ?? undefined,
        group: group ?? undefined,
        thread,
        size,
        body: hasBody ? bodyOf(bodies, bodyStart, size, start, sound) : undefined,
        attempts: 0,
        answered: false,
        takers: undefined,
        ending: undefined,
      });
      if (hasBody) bodyStart += size;
    }
  }
}

/** Returns the checksum of each part of the bodies between two places. */
function checksumsOf(bodies: Buffer, start: number, end: number): number[] {
  const checksums: number[] = [];
  for (let at = start; at < end; at += partBytes)
    checksums.push(crc32(bodies.subarray(at, Math.min(at + partBytes, end))));
  return checksums;
}

/** Reads the body of a message. Returns undefined if a part of it is damaged. `blockStart` is the first byte of the first part. */
function bodyOf(
  bodies: Buffer,
  start: number,
  size: number,
  blockStart: number,
  sound: readonly boolean[],
): string | undefined {
  const end = start + size;
  let part = Math.floor((start - blockStart) / partBytes);
  for (; blockStart + part * partBytes < end; part++) if (!sound[part]) return undefined;
  return bodies.toString('utf8', start, end);
}

/**
 * Encodes messages in their present state: the record of a segment. The encoder's earlier content is dropped, and its next operation
 * overwrites the bodies.
 */
export function encodeMessages(
  messages: readonly LoggedMessage[],
  place: number,
  encoder: RecordEncoder,
): EncodedRecord {
  encoder.clear();
  for (const message of messages) encoder.put(message);
  for (const message of messages) {
    if (message.attempts > 0) encoder.setAttempts(message);
    for (const agent of message.takers ?? []) encoder.setTaken(message, agent);
    if (message.ending !== undefined) encoder.settle(message, message.ending);
    else if (message.answered) encoder.setAnswered(message);
  }
  return encoder.take(place);
}

/**
 * Returns the messages of an {@link encodeMessages} record, in their original order. If the record is damaged, some are missing, and others
 * have lost their endings.
 */
export function decodeMessages(
  record: EncodedRecord,
  place: number,
): { messages: LoggedMessage[]; isWhole: boolean } {
  const messages: LoggedMessage[] = [];
  // The operations after the puts have the order of the messages.
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
    setTaken(_, seq, agent) {
      const message = find(seq);
      if (message) message.takers = withTaker(message.takers, agent);
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
