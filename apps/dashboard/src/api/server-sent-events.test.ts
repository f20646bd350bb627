import { expect, test } from 'vitest';
import { SentEventReader } from './server-sent-events.ts';

test('Events are read whole, wherever the stream was cut, and comments are left out.', () => {
  const text = ': open\n\nevent: hello\ndata: {"a":1}\n\nid: x.2\nevent: batch\ndata: "b: c"\n\n';
  const events = [
    { name: 'hello', data: '{"a":1}' },
    { name: 'batch', data: '"b: c"', id: 'x.2' },
  ];
  for (let cut = 0; cut < text.length; cut++) {
    const reader = new SentEventReader();
    expect([...reader.read(text.slice(0, cut)), ...reader.read(text.slice(cut))]).toEqual(events);
  }
});
