import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { brokerFrameSchema } from './broker-frames.ts';
import { clientFrameSchemas } from './client-frames.ts';
import { splitFrames } from './frame-text.ts';
import { isPlainBrokerFrame, isPlainClientFrame } from './plain-frames.ts';

const clientFrames = files('client-');
const brokerFrames = files('broker-');

/** The golden frames of docs/protocol, of one side. */
function files(side: string): Record<string, unknown>[] {
  const folder = new URL('../../../docs/protocol/fixtures/', import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.startsWith(side))
    .flatMap((name) => [...splitFrames(readFileSync(new URL(name, folder), 'utf8'))])
    .map(({ header }) => JSON.parse(header));
}

const deliver = { type: 'deliver', to: 'bob', id: 'a1', kind: 'note' };
const values = [
  undefined,
  null,
  true,
  false,
  0,
  1,
  -1,
  1.5,
  2 ** 53,
  '',
  'bob',
  'bob#sub',
  'Bob',
  'no spaces',
  're:a1',
  'x'.repeat(65),
  'x'.repeat(129),
  [],
  [1],
  [0],
  ['1'],
  {},
  { agent: 'a', address: 'a', role: 'r' },
  { a: 1 },
  { a: '1' },
  JSON.parse('{"__proto__":1}'),
  { text: 'x'.repeat(2100) },
  [{ agent: 'a', address: 'a', role: 'r', connected_at: 1 }],
  [{ agent: 'a', address: 'a', role: 'r', connected_at: 1, status: [], inbox: { unread: 0, held: 1 } }],
  [{ agent: 'a', address: 'a', role: 'r', connected_at: 1, inbox: { unread: 0, held: -1 } }],
  [{ agent: 'a', address: 'a', role: 'r', connected_at: 1, inbox: { unread: 0, held: 1, more: 1 } }],
  [{ agent: 'a', address: 'a', role: 'r', connected_at: 1, more: 1 }],
];
const fields = [
  'to',
  'id',
  'kind',
  'correlation_id',
  'ttl_ms',
  'traceparent',
  'settles',
  'ephemeral',
  'from',
  'role',
  'attempt',
  'seq',
  'seqs',
  'request_id',
  'created_at',
  'remaining_ms',
  'duplicate',
  'more',
];

/** Each frame with each of its fields, and some others, once at each value. */
function* variants(frames: Record<string, unknown>[]): Generator<Record<string, unknown>> {
  for (const frame of frames) {
    for (const field of new Set([...fields, ...Object.keys(frame)])) {
      if (field === 'type') continue;
      for (const value of values) yield JSON.parse(JSON.stringify({ ...frame, [field]: value }));
    }
  }
}

it('takes no client frame for plain in which the schema finds a fault', () => {
  let plain = 0;
  const frames = [deliver, { type: 'ack', seqs: [1] }, { type: 'working', seqs: [1, 2] }, ...clientFrames];
  for (const changed of variants(frames)) {
    if (!isPlainClientFrame(changed)) continue;
    plain++;
    const { body: _mark, ...data } = changed;
    const schema = clientFrameSchemas[changed.type as 'deliver'];
    expect(schema.safeParse(changed)).toEqual({ success: true, data });
  }
  expect(plain).toBeGreaterThan(500);
});

it('takes no broker frame for plain in which the schema finds a fault', () => {
  let plain = 0;
  const from = { agent: 'a', address: 'a', role: 'r' };
  const message = { type: 'message', id: 'a', from, to: 'b', kind: 'note', created_at: 1 };
  for (const changed of variants([{ type: 'delivered', id: 'a' }, message, ...brokerFrames])) {
    if (!isPlainBrokerFrame(changed)) continue;
    plain++;
    const { body: _mark, ...data } = changed;
    expect(brokerFrameSchema.safeParse(changed)).toEqual({ success: true, data });
  }
  expect(plain).toBeGreaterThan(500);
});

it('takes nearly every golden frame for plain, so that few connections load the schemas', () => {
  const judged = [
    ...clientFrames.filter((frame) => !isPlainClientFrame(frame)),
    ...brokerFrames.filter((frame) => !isPlainBrokerFrame(frame)),
  ];
  expect(new Set(judged.map(({ type }) => type))).toEqual(new Set(['cancel', 'peeked']));
});

it('takes the frames of daily work for plain, with and without a body', () => {
  const request = { ...deliver, body: true, correlation_id: 'x', ttl_ms: 5, settles: 3, ephemeral: false };
  for (const frame of [deliver, request, { type: 'ack', seqs: [1, 2] }, { type: 'working', seqs: [1] }]) {
    expect(isPlainClientFrame(frame), JSON.stringify(frame)).toBe(true);
  }
  expect(isPlainClientFrame({ ...deliver, from: 'bob' })).toBe(false);
  expect(isPlainClientFrame({ ...deliver, type: 'constructor' })).toBe(false);
  expect(isPlainBrokerFrame({ type: 'delivered', id: 'a', duplicate: true })).toBe(true);
});
