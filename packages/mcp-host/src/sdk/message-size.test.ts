import { expect, it } from 'vitest';
import { MessageSize } from './message-size.ts';

/** Measures a text in pieces of one byte, and as a whole: both must agree. */
function largest(contentType: string | null, text: string): number {
  const bytes = Buffer.from(text);
  const whole = new MessageSize(contentType).add(bytes);
  const bytewise = new MessageSize(contentType);
  expect(Math.max(0, ...[...bytes].map((byte) => bytewise.add(Uint8Array.of(byte))))).toBe(whole);
  return whole;
}

it('counts a body as a whole, whatever it holds', () => {
  expect(largest('application/json', 'data: x\n\ndata: y\n\n')).toBe(18);
  expect(largest(null, 'é')).toBe(2);
});

it.each(['\n', '\r', '\r\n'])('counts each event of a stream by itself, with lines that end in %j', (end) => {
  const event = `data: x${end}${end}`;
  const count = largest('text/event-stream; charset=utf-8', event.repeat(50));
  expect(count).toBeGreaterThanOrEqual(event.length - 1);
  expect(count).toBeLessThanOrEqual(event.length + 1);
});

it.each(['\n', '\r', '\r\n'])('counts lines without end as one event, with lines that end in %j', (end) => {
  expect(largest('Text/Event-Stream', `data: x${end}`.repeat(50))).toBe(50 * (7 + end.length));
  expect(largest('text/event-stream', 'x'.repeat(1000))).toBe(1000);
});
