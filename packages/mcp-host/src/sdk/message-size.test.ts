import { expect, it } from 'vitest';
import { MessageSize } from './message-size.ts';

const events = 'text/event-stream; charset=utf-8';

/** Returns the bound that a text exceeds. It must be the same for the whole text and byte by byte. */
function exceeded(contentType: string | null, text: string, { bytes = 1e9, nodes = 1e9 }) {
  const chunk = Buffer.from(text);
  const whole = new MessageSize(contentType, { bytes, nodes }).add(chunk);
  const bytewise = new MessageSize(contentType, { bytes, nodes });
  const each = [...chunk].map((byte) => bytewise.add(Uint8Array.of(byte)));
  expect(each.find((bound) => bound)).toBe(whole);
  return whole;
}

it('counts a body that is no stream of events as a whole, even if it looks like one', () => {
  const text = 'data: x\n\ndata: é\n\n';
  expect(exceeded('application/json', text, { bytes: 19 })).toBeUndefined();
  expect(exceeded('application/json', text, { bytes: 18 })).toBe('bytes');
  expect(exceeded(null, 'é', { bytes: 1 })).toBe('bytes');
});

it.each(['\n', '\r', '\r\n'])('counts each event of a stream by itself, with lines that end in %j', (end) => {
  const event = `data: [1,"x"]${end}${end}`;
  expect(exceeded(events, event.repeat(50), { bytes: event.length + 1, nodes: 3 })).toBeUndefined();
  expect(exceeded(events, event.repeat(50), { bytes: 10 })).toBe('bytes');
  expect(exceeded(events, event.repeat(50), { nodes: 2 })).toBe('nodes');
});

it.each(['\n', '\r', '\r\n'])('counts lines without end as one event, with lines that end in %j', (end) => {
  expect(exceeded('Text/Event-Stream', `data: x${end}`.repeat(50), { bytes: 300 })).toBe('bytes');
  expect(exceeded(events, 'x'.repeat(1000), { bytes: 999 })).toBe('bytes');
  expect(exceeded(events, end.repeat(1000), { bytes: 10 })).toBeUndefined();
});

it('counts values, names and containers, and nothing inside a text', () => {
  const text = JSON.stringify({ a: ['[{,:', '\\', '",\\"', 'é,'], b: {} });
  expect(exceeded(null, text, { nodes: 9 })).toBeUndefined();
  expect(exceeded(null, text, { nodes: 8 })).toBe('nodes');
});
