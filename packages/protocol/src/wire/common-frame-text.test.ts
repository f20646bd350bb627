import { expect, it } from 'vitest';
import { commonFrameText } from './common-frame-text.ts';
import { encodeFrame } from './frame-text.ts';

const from = { agent: 'alice', address: 'alice#mcp-V1', role: 'worker' };
const frames = [
  {
    type: 'message',
    id: 'a1',
    seq: 7,
    from,
    to: 'bob',
    kind: 'note',
    correlation_id: 'c1',
    created_at: 1_795_221_600_000,
    remaining_ms: 60_000,
    attempt: 2,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  },
  { type: 'delivered', id: 'a1', duplicate: true },
  {
    type: 'deliver',
    to: 'bob',
    id: 'a1',
    kind: 'note',
    correlation_id: 'c1',
    ttl_ms: 5,
    traceparent: '00-01',
    settles: 3,
    ephemeral: false,
  },
];
const values = [
  undefined,
  null,
  true,
  0,
  -0,
  1.5,
  2 ** 31,
  2 ** 53,
  -1e21,
  5e-324,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '',
  ' ~!#[]^_`{|}',
  'a"b',
  '\\',
  'tab\there',
  'line\nend\r',
  '\u0000\u001f\u007f\u0080',
  'é\u2028\u2029',
  '\ud83d\ude00',
  'lone \ud83d',
  '\ude00 lone',
  '","admin":true,"x":"',
  'x'.repeat(1000),
  [],
  ['a', 1],
  {},
  new Date(0),
  Object('boxed'),
  JSON.parse('{"__proto__":1}'),
  from,
  { ...from, agent: '"' },
  { ...from, agent: undefined },
  { ...from, more: 1 },
];
const extra = ['body', 'more', 'toJSON', 'role', 'constructor'];

/** Each frame with each of its fields, and some others, once at each value, and once without it. */
function* variants(): Generator<Record<string, unknown>> {
  for (const frame of frames) {
    yield frame;
    yield Object.fromEntries(Object.entries(frame).reverse());
    yield JSON.parse(JSON.stringify(frame).replace('{', '{"__proto__":{"id":"x"},'));
    for (const name of [...Object.keys(frame), ...extra]) {
      const { [name]: _, ...without } = frame as Record<string, unknown>;
      yield without;
      for (const value of values) yield { ...frame, [name]: value };
    }
  }
}

it('writes what JSON.stringify writes, or leaves it to do so', () => {
  let written = 0;
  for (const frame of variants()) {
    const text = commonFrameText(frame);
    if (text === undefined) continue;
    written++;
    if (Object.keys(frame)[0] === 'type') expect(`${text}}`).toBe(JSON.stringify(frame));
    expect(JSON.parse(`${text}}`)).toEqual(JSON.parse(JSON.stringify(frame)));
  }
  expect(written).toBeGreaterThan(100);
});

it('gives every frame its body line and loses nothing of it', () => {
  for (const frame of variants()) {
    const plain = JSON.stringify(frame);
    const fields = JSON.parse(plain);
    const [header, nothing] = encodeFrame(frame).split('\n');
    expect(JSON.parse(header!)).toEqual(fields);
    expect(nothing).toBe('');
    const [marked, body, end] = encodeFrame(frame, '{"text":"\\n"}').split('\n');
    expect(marked!.endsWith(',"body":true}')).toBe(true);
    expect(JSON.parse(marked!)).toEqual({ ...fields, body: true });
    expect([body, end]).toEqual(['{"text":"\\n"}', '']);
  }
});

it('writes the frames of daily work itself, whatever the order of their fields', () => {
  for (const frame of frames) {
    expect(commonFrameText(frame), frame.type).toBeDefined();
    expect(commonFrameText(Object.fromEntries(Object.entries(frame).reverse())), frame.type).toBeDefined();
  }
  expect(
    commonFrameText({ type: 'deliver', to: 'bob', id: 'a1', kind: 'note', from: 'bob' }),
  ).toBeUndefined();
  expect(commonFrameText({ type: 'constructor' })).toBeUndefined();
});
