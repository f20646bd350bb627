import { expect, it } from 'vitest';
import { parseTraceparent, validTraceparent } from './trace-parent.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const valid = `00-${traceId}-${spanId}-01`;

it('reads the ids and the flags', () => {
  expect(parseTraceparent(valid)).toEqual({ traceId, spanId, flags: 1 });
  expect(validTraceparent(valid)).toBe(valid);
  expect(validTraceparent(`00-${traceId}-${spanId}-03`)).toBe(`00-${traceId}-${spanId}-03`);
});

it('takes of a later version what this one knows', () => {
  expect(validTraceparent(`01-${traceId}-${spanId}-ff-what-comes`)).toBe(valid);
  expect(validTraceparent(`cc-${traceId}-${spanId}-02`)).toBe(`00-${traceId}-${spanId}-00`);
});

it.each([
  ['nothing', undefined],
  ['another type', 7],
  ['an empty text', ''],
  ['a version that is forbidden', `ff-${traceId}-${spanId}-01`],
  ['more fields than the version has', `${valid}-more`],
  ['capital letters', valid.toUpperCase()],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['a short trace id', `00-${traceId.slice(1)}-${spanId}-01`],
  ['a line break at the end', `${valid}\n`],
  ['a space before it', ` ${valid}`],
])('refuses %s', (_, value) => {
  expect(validTraceparent(value)).toBeUndefined();
});
