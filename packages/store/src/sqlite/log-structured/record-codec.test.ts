import { expect, it } from 'vitest';
import {
  type Ending,
  hasLostBody,
  type LoggedMessage,
  type SharedFields,
  sharedFieldsOf,
} from '../../logged-message.ts';
import type { NewMessage } from '../../message.ts';
import {
  decodeMessages,
  decodeRecord,
  type EncodedRecord,
  encodeMessages,
  RecordEncoder,
} from './record-codec.ts';

const place = 7;
const hostile = '"]\\,\u0000\n{}😀 __proto__';
const plain: NewMessage = {
  inbox: 'inbox',
  id: 'a',
  sender: 'ann',
  senderAddress: 'ann#one',
  senderRole: 'worker',
  kind: 'note',
  createdAt: 1_800_000_000_000,
  expiresAt: 1_800_000_300_000,
};
const texts = ['inbox', 'id', 'sender', 'senderAddress', 'senderRole', 'kind'] as const;
const optional = ['correlationId', 'traceparent', 'tokenId', 'body'] as const;
const changes: Partial<NewMessage>[] = [
  {},
  { body: 'body' },
  ...[...texts, ...optional].map((field) => ({ [field]: hostile })),
  ...optional.map((field) => ({ [field]: '' })),
  { group: { key: hostile } },
  { thread: hostile },
  { group: {}, thread: '', correlationId: 'c' },
  { group: {}, correlationId: 'c', body: 'body' },
  { correlationId: 'c', traceparent: 't', tokenId: 'k', body: '漢字' },
  { createdAt: 0, expiresAt: 2 ** 53 },
  { openUntil: 2 ** 42 },
  { quota: { sender: { messages: 1, bytes: 1 }, senderToRecipient: { messages: 1, bytes: 1 } } },
];

/** Makes messages with every pair of neighbours. */
function messages(): LoggedMessage[] {
  const all = changes.flatMap((one) => changes.flatMap((other) => [one, one, other]));
  let shared: SharedFields | undefined;
  return all.map((change, seq) => {
    const message = { ...plain, ...change };
    shared = sharedFieldsOf(message, shared);
    const { id, correlationId, traceparent, group, thread, body } = message;
    const content = { id, correlationId, traceparent, group, thread, body };
    const size = body === undefined ? 2 * seq : Buffer.byteLength(body);
    return {
      seq,
      shared,
      ...content,
      size,
      attempts: 0,
      answered: false,
      takers: undefined,
      ending: undefined,
    };
  });
}

function endingOf(seq: number): Ending {
  const at = seq - (seq % 5);
  return { at, outcome: 'dead', reason: at % 2 === 0 ? hostile : null };
}

it('reads all operations in their order, with all combinations of shared fields', () => {
  const encoder = new RecordEncoder();
  const written: unknown[] = [];
  let ending = endingOf(0);
  for (const message of messages()) {
    const { seq, shared } = message;
    encoder.put(message);
    written.push(['put', message]);
    if (seq % 5 === 0) ending = endingOf(seq);
    if (seq % 3 === 0) {
      const answered = seq % 2 === 0;
      encoder.settle({ ...message, answered }, ending);
      written.push(['settle', shared.inbox, seq, ending, answered]);
    }
    if (seq % 4 === 0) {
      encoder.setAttempts({ ...message, attempts: seq });
      written.push(['attempts', shared.inbox, seq, seq]);
    }
    if (seq % 7 === 0) {
      encoder.setAnswered(message);
      written.push(['answered', shared.inbox, seq]);
    }
    if (seq % 11 === 0) {
      encoder.setTaken(message, hostile);
      written.push(['taken', shared.inbox, seq, hostile]);
    }
  }
  expect(encoder.isEmpty).toBe(false);
  expect(operationsOf(encoder.take(place))).toEqual(written);
  expect(encoder.isEmpty).toBe(true);
});

it('reads the messages of a segment as they were, in their order', () => {
  const pending = messages().map((one) => ({
    ...one,
    attempts: one.seq % 3,
    answered: one.seq % 5 === 0,
    takers: one.seq % 7 === 0 ? ['rosa', hostile] : undefined,
  }));
  expect(decodeMessages(encodeMessages(pending, place, new RecordEncoder()), place)).toEqual({
    messages: pending,
    isWhole: true,
  });
  const settled = messages().map((one) => ({
    ...one,
    body: undefined,
    answered: one.seq % 2 === 0,
    ending: endingOf(one.seq),
  }));
  expect(decodeMessages(encodeMessages(settled, place, new RecordEncoder()), place)).toEqual({
    messages: settled,
    isWhole: true,
  });
  expect(decodeMessages(encodeMessages([], place, new RecordEncoder()), place)).toEqual({
    messages: [],
    isWhole: true,
  });
});

it('writes what messages share once in each block', () => {
  const encoder = new RecordEncoder();
  const [first] = messages();
  const ending = endingOf(0);
  const shared = JSON.stringify(Object.values(first!.shared)).length + JSON.stringify(ending).length + 80;
  const blocks = 3;
  const lengths = [0, 1].map(() => {
    for (let seq = 0; seq < 100; seq++) {
      encoder.put({ ...first!, seq });
      encoder.settle({ ...first!, seq }, ending);
    }
    return encoder.take(place).entries.length;
  });
  expect(lengths[0]).toBeLessThan(100 * '[99,0,0,"a"],99,'.length + blocks * shared);
  expect(lengths[1]).toBe(lengths[0]);
});

it('gives no altered message with any byte flipped, and loses only the messages around that byte', () => {
  const body = 'b'.repeat(700);
  const [first] = messages();
  const sent = Array.from({ length: 100 }, (_, seq) => ({
    ...first!,
    seq,
    body: `${seq} ${body}`,
    size: 0,
  })).map((one) => ({ ...one, size: Buffer.byteLength(one.body) }));
  const { entries, bodies } = encodeMessages(sent, place, new RecordEncoder());
  const reads = (record: EncodedRecord): { damaged: number; missing: number; isWhole: boolean } => {
    const { messages: read, isWhole } = decodeMessages(record, place);
    const expected = read.map((one) => ({ ...sent[one.seq]!, ...(hasLostBody(one) && { body: undefined }) }));
    expect(read).toEqual(expected);
    const damaged = read.filter(hasLostBody).length;
    return { damaged, missing: sent.length - read.length, isWhole };
  };
  expect(reads({ entries, bodies })).toEqual({ damaged: 0, missing: 0, isWhole: true });
  for (let at = 0; at < bodies.length; at += 1999) {
    const { damaged, missing, isWhole } = reads({ entries, bodies: flipped(bodies, at) });
    expect([missing, isWhole]).toEqual([0, true]);
    expect(damaged).toBeGreaterThan(0);
    expect(damaged).toBeLessThan(9);
  }
  for (let at = 0; at < entries.length; at += 41) {
    const { damaged, missing, isWhole } = reads({ entries: `${flipped(Buffer.from(entries), at)}`, bodies });
    expect([damaged, isWhole]).toEqual([0, false]);
    expect(missing).toBeLessThan(81);
  }
  expect(reads({ entries, bodies: bodies.subarray(0, -1) })).toMatchObject({ missing: 0, isWhole: true });
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1 << (at % 8);
  return copy;
}

function operationsOf(record: EncodedRecord): unknown[] {
  const operations: unknown[] = [];
  const isWhole = decodeRecord(record, place, {
    put: (...what) => operations.push(['put', ...what]),
    settle: (...what) => operations.push(['settle', ...what]),
    setAttempts: (...what) => operations.push(['attempts', ...what]),
    setAnswered: (...what) => operations.push(['answered', ...what]),
    setTaken: (...what) => operations.push(['taken', ...what]),
  });
  expect(isWhole).toBe(true);
  return operations;
}
