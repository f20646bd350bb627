import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { brokerFrameSchema } from './broker-frames.ts';
import { clientFrameSchemas } from './client-frames.ts';
import { splitFrames } from './frame-text.ts';
import { parseBrokerFrame, parseClientFrame } from './parse-frame.ts';
import { plainBrokerFrame, plainClientFrame } from './plain-frames.ts';

const clientFrames = files('client-');
const brokerFrames = files('broker-');

/** The golden frames of docs/protocol, of one side. */
function files(side: string): Record<string, unknown>[] {
  const folder = new URL('../../../../docs/protocol/fixtures/', import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.startsWith(side))
    .flatMap((name) => [...splitFrames(readFileSync(new URL(name, folder), 'utf8'))])
    .map(({ header }) => JSON.parse(header));
}

const deliver = { type: 'deliver', to: 'bob', id: 'a1', kind: 'note' };
const common = [deliver, { type: 'ack', seqs: [1] }, { type: 'working', seqs: [1, 2] }];
const message = {
  type: 'message',
  id: 'a',
  from: { agent: 'a', address: 'a', role: 'r' },
  to: 'b',
  kind: 'note',
  created_at: 1,
};
const values = [
  undefined,
  null,
  true,
  false,
  0,
  1,
  -1,
  1.5,
  -0,
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
  { agent: 'a', address: 'a', role: 'r', more: 1 },
  { agent: 'a', address: 'a', role: null },
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
  'body',
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

/** As JSON has it: without what is `undefined`. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

it('takes no client frame for plain in which the schema finds a fault, and makes the same of it', () => {
  let plain = 0;
  for (const changed of variants([...common, ...clientFrames])) {
    const frame = plainClientFrame(changed);
    if (frame === undefined) continue;
    plain++;
    const schema = clientFrameSchemas[changed.type as 'deliver'];
    expect(schema.safeParse(changed)).toEqual({ success: true, data: frame });
  }
  expect(plain).toBeGreaterThan(500);
});

it('takes no broker frame for plain in which the schema finds a fault, and makes the same of it', () => {
  let plain = 0;
  for (const changed of variants([{ type: 'delivered', id: 'a' }, message, ...brokerFrames])) {
    const frame = plainBrokerFrame(changed);
    if (frame === undefined) continue;
    plain++;
    expect(brokerFrameSchema.safeParse(changed)).toEqual({ success: true, data: frame });
  }
  expect(plain).toBeGreaterThan(500);
});

it('reads every line of daily work as the schemas alone would', () => {
  for (const changed of variants(common)) {
    const { data } = clientFrameSchemas[changed.type as 'deliver'].safeParse(changed);
    const { frame, refusal } = parseClientFrame(JSON.stringify(changed));
    expect(frame).toEqual(data);
    expect(refusal === undefined).toBe(data !== undefined);
  }
  for (const changed of variants([{ type: 'delivered', id: 'a' }, message])) {
    expect(parseBrokerFrame(JSON.stringify(changed))).toEqual(brokerFrameSchema.safeParse(changed).data);
  }
});

it('drops unknown fields of the frames of daily work without the schemas', () => {
  const more = '"more":1,"__proto__":{"from":"bob"},"constructor":2';
  const parse = (frame: object): Record<string, unknown> =>
    JSON.parse(`${JSON.stringify(frame).slice(0, -1)},${more}}`);
  for (const frame of common) expect(asJson(plainClientFrame(parse(frame)))).toEqual(frame);
  const { from } = message;
  const changed = { ...message, from: { ...from, more: 1 } };
  expect(asJson(plainBrokerFrame(parse(changed)))).toEqual(message);
});

it('leaves claims, and what only the broker may set, to the schema', () => {
  for (const claim of [{ from: 'bob' }, { from: null }, { role: 'r' }, { attempt: 1 }, { seq: 1 }]) {
    expect(plainClientFrame({ ...deliver, ...claim }), JSON.stringify(claim)).toBeUndefined();
  }
  const claims = { ...deliver, from: { agent: 'bob' }, role: 'r' };
  expect(parseClientFrame(JSON.stringify(claims))).toEqual({ frame: claims });
});

it('takes nearly every golden frame for plain, so that few connections load the schemas', () => {
  const judged = [
    ...clientFrames.filter((frame) => plainClientFrame(frame) === undefined),
    ...brokerFrames.filter((frame) => plainBrokerFrame(frame) === undefined),
  ];
  expect(new Set(judged.map(({ type }) => type))).toEqual(new Set(['cancel', 'peeked']));
});

it('takes the frames of daily work for plain, with and without a body', () => {
  const request = { ...deliver, body: true, correlation_id: 'x', ttl_ms: 5, settles: 3, ephemeral: false };
  for (const frame of [request, ...common]) {
    expect(plainClientFrame(frame), JSON.stringify(frame)).toBeDefined();
  }
  expect(plainClientFrame({ ...deliver, type: 'constructor' })).toBeUndefined();
  expect(plainBrokerFrame({ type: 'delivered', id: 'a', duplicate: true })).toBeDefined();
});
