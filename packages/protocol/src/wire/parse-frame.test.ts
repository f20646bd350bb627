import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { brokerFrameSchemas } from './broker-frames.ts';
import { clientFrameSchemas } from './client-frames.ts';
import { splitFrames } from './frame-text.ts';
import { parseBrokerFrame, parseClientFrame } from './parse-frame.ts';

type Fields = Record<string, unknown>;

const deliver = { type: 'deliver', to: 'bob', id: 'a1', kind: 'note' };
const sender = { agent: 'a', address: 'a', role: 'r' };
const connectedAgent = { ...sender, connected_at: 1 };
const values = [
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
  sender,
  { ...sender, more: 1 },
  { ...sender, role: null },
  { a: 1 },
  { a: '1' },
  { text: 'x'.repeat(2100) },
  [connectedAgent],
  [{ ...connectedAgent, status: [], inbox: { unread: 0, held: 1 } }],
  [{ ...connectedAgent, inbox: { unread: 0, held: -1 } }],
  [{ ...connectedAgent, inbox: { unread: 0, held: 1, more: 1 } }],
];
const otherFields = ['id', 'from', 'role', 'attempt', 'seq', 'request_id', 'body', 'more'];

describe('a frame', () => {
  it('reads each value of a field as its schema alone would read it', () => {
    for (const line of variants('client-')) {
      const fields = JSON.parse(line);
      const { success, data, error } = clientFrameSchemas[fields.type as 'deliver'].safeParse(fields);
      const { frame, refusal } = parseClientFrame(line);
      expect(frame, line).toEqual(data);
      expect(refusal === undefined, line).toBe(success);
      if (refusal) expect(refusal.message, line).toContain(error?.issues[0]?.message);
    }
    for (const line of variants('broker-')) {
      const fields = JSON.parse(line);
      const schema = brokerFrameSchemas[fields.type as 'delivered'];
      expect(parseBrokerFrame(line), line).toEqual(schema.safeParse(fields).data);
    }
  });

  it('is read by a schema that can be compiled, of every type', () => {
    for (const schema of [...Object.values(clientFrameSchemas), ...Object.values(brokerFrameSchemas)]) {
      expect(z.compile(schema as z.ZodType, { strict: true })).not.toBe(schema);
    }
  });

  it('loses the fields that nobody knows', () => {
    const unknown = '"more":1,"__proto__":{"from":"bob"},"constructor":2}';
    const line = `${JSON.stringify(deliver).slice(0, -1)},${unknown}`;
    expect(parseClientFrame(line)).toEqual({ frame: deliver });
    const message = { type: 'message', id: 'a', from: sender, to: 'b', kind: 'note', created_at: 1 };
    const changed = JSON.stringify({ ...message, from: { ...sender, more: 1 } });
    expect(parseBrokerFrame(`${changed.slice(0, -1)},${unknown}`)).toEqual(message);
  });
});

describe('a frame of a client', () => {
  it('keeps its claims, for the broker to check', () => {
    const claims = { ...deliver, from: { agent: 'bob' }, role: 'r' };
    expect(parseClientFrame(JSON.stringify(claims))).toEqual({ frame: claims });
  });

  it('is refused with the rule, the field and its ids', () => {
    expect(refusalOf({ ...deliver, seq: 1 })).toEqual({
      code: 'bad_frame',
      message: "field 'seq': is set by the broker; leave it out",
      field: 'seq',
      id: 'a1',
    });
    expect(refusalOf({ type: 'ack', seqs: [1, 0], request_id: 'r1' })).toMatchObject({
      code: 'bad_frame',
      field: 'seqs.1',
      request_id: 'r1',
    });
    expect(refusalOf({ type: 'announce' })).toMatchObject({ code: 'bad_frame', field: 'status' });
  });

  it('of an unknown type is refused with the types that are known', () => {
    for (const type of ['welcome', 'constructor', '__proto__', 'toString', '', 1, null, ['deliver']]) {
      const line = `{"type":${JSON.stringify(type)},"id":"a1"}`;
      expect(parseClientFrame(line).refusal, line).toMatchObject({
        code: 'unknown_frame',
        message: expect.stringContaining('hello, deliver, subscribe'),
        field: 'type',
        id: 'a1',
      });
      if (type !== 'welcome') expect(parseBrokerFrame(line), line).toBeUndefined();
    }
  });

  it('is refused if it is too long, or no JSON object', () => {
    for (const line of ['', '{', '[]', 'null', '1', `{"type":"ack","more":"${'x'.repeat(16_384)}"}`]) {
      expect(parseClientFrame(line).refusal?.code, line).toBe('bad_frame');
    }
  });
});

function refusalOf(fields: Fields): unknown {
  return parseClientFrame(JSON.stringify(fields)).refusal;
}

/** Each golden frame with each of its fields, and some others, once at each value and once without it. */
function* variants(side: string): Generator<string> {
  for (const fields of goldenFrames(side)) {
    for (const name of new Set([...otherFields, ...Object.keys(fields)])) {
      if (name === 'type') continue;
      const { [name]: _, ...without } = fields;
      yield JSON.stringify(without);
      for (const value of values) yield JSON.stringify({ ...fields, [name]: value });
    }
  }
}

function goldenFrames(side: string): Fields[] {
  const folder = new URL('../../../../docs/protocol/fixtures/', import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.startsWith(side))
    .flatMap((name) => [...splitFrames(readFileSync(new URL(name, folder), 'utf8'))])
    .map(({ header }) => JSON.parse(header));
}
