import type { NewMessage, Outcome } from '../inbox-store.ts';
import type { Ending } from './settled-message.ts';

/** A record as it is stored: what happened, as JSON, and the bodies of what came, one after the other. */
export interface RecordText {
  entries: string;
  bodies: string;
}

type Header = Omit<NewMessage, 'body' | 'settles'>;

/** What the messages after it, up to the next one, have in common. */
type Like = [
  'like',
  inbox: string,
  sender: string,
  senderAddress: string,
  senderRole: string,
  tokenId: string | null,
  kind: string,
  createdAt: number,
  expiresAt: number,
];

/** A message that came; `bodyLength` in UTF-16 units, null without a body. */
type Added = [
  seq: number,
  size: number,
  bodyLength: number | null,
  id: string,
  correlationId?: string | null,
  traceparent?: string,
];

/** How those ended whose sequence numbers follow, up to the next one. */
type End = ['end', inbox: string, at: number, outcome: Outcome, reason: string | null];

/** One thing that happened to a recent message, or what several have in common. */
type Entry = Like | Added | End | number | ['tried', inbox: string, seq: number, attempts: number];

/** Who is told what a record says, in the order in which it happened. */
export interface RecordReader {
  added(seq: number, message: NewMessage, size: number): void;
  ended(inbox: string, seq: number, ending: Ending): void;
  tried(inbox: string, seq: number, attempts: number): void;
}

export function readRecord({ entries, bodies }: RecordText, reader: RecordReader): void {
  let like: Header | undefined;
  let end: { inbox: string; ending: Ending } | undefined;
  let at = 0;
  const added = (seq: number, size: number, header: Header, bodyLength: number | null = null) => {
    const body = bodyLength === null ? undefined : bodies.slice(at, at + bodyLength);
    at += bodyLength ?? 0;
    reader.added(seq, { ...header, body }, size);
  };
  for (const entry of JSON.parse(entries) as Entry[]) {
    if (typeof entry === 'number') {
      if (end) reader.ended(end.inbox, entry, end.ending);
    } else if (entry[0] === 'like') like = headerOf(entry);
    else if (entry[0] === 'end') end = endOf(entry);
    else if (entry[0] === 'tried') reader.tried(entry[1], entry[2], entry[3]);
    else if (like) {
      const [seq, size, bodyLength, id, correlationId, traceparent] = entry;
      added(seq, size, { ...like, id, correlationId: correlationId ?? undefined, traceparent }, bodyLength);
    }
  }
}

function headerOf(like: Like): Header {
  const [, inbox, sender, senderAddress, senderRole, tokenId, kind, createdAt, expiresAt] = like;
  const from = { sender, senderAddress, senderRole, tokenId: tokenId ?? undefined };
  return { inbox, id: '', ...from, kind, createdAt, expiresAt };
}

function endOf([, inbox, at, outcome, reason]: End): { inbox: string; ending: Ending } {
  return { inbox, ending: { at, outcome, reason } };
}
