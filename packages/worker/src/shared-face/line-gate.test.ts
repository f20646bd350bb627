import { setImmediate as nextTurn } from 'node:timers/promises';
import { Budget } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { createLineGate } from './line-gate.ts';

function gate(maxLineBytes: number) {
  const tooLong: unknown[] = [];
  const passed: string[] = [];
  const stream = createLineGate({
    maxLineBytes,
    budget: new Budget(1e9, 1e9, 0),
    now: () => 0,
    onTooLong: (id) => void tooLong.push(id),
  });
  stream.on('data', (chunk) => void passed.push(String(chunk)));
  return { stream, tooLong, passed };
}

async function ended(stream: ReturnType<typeof gate>['stream']): Promise<void> {
  const done = new Promise((resolve) => stream.once('end', resolve));
  stream.end();
  await done;
}

test('only whole lines are passed on, wherever the stream is cut', async () => {
  const { stream, passed } = gate(100);
  const lines = ['1 {"a":"é"}\n', '2 {}\n', '\n', '0 {"b":1}\n'];
  for (const byte of Buffer.from(`${lines.join('')}3 {"never":"ends"`)) stream.write(Buffer.of(byte));
  await ended(stream);
  expect(passed).toEqual(lines);
});

test('many lines in one chunk are passed on a few at a time, so that others have their turn', async () => {
  const { stream, passed } = gate(100);
  stream.write('1 {}\n'.repeat(100));
  await nextTurn();
  expect(passed.length).toBeGreaterThan(0);
  expect(passed.length).toBeLessThan(50);
  await ended(stream);
  expect(passed).toHaveLength(100);
});

test('a line that is too long is left out with the id of its request, and the next one is passed on', async () => {
  const { stream, passed, tooLong } = gate(10_000);
  const text = 'x'.repeat(20_000);
  const first = JSON.stringify({ jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { text } });
  const last = JSON.stringify({ method: 'tools/call', params: { text, id: 7 }, jsonrpc: '2.0', id: 5 });
  const none = JSON.stringify({ method: 'notifications/x', params: { id: 7, text, list: [{ id: 8 }] } });
  for (const line of [first, last, none]) {
    const bytes = Buffer.from(`1 ${line}\n2 {}\n`);
    for (let at = 0; at < bytes.length; at += 1000) stream.write(bytes.subarray(at, at + 1000));
  }
  await ended(stream);
  expect(tooLong).toEqual(['a', 5, undefined]);
  expect(passed).toEqual(['2 {}\n', '2 {}\n', '2 {}\n']);
});

test.each(['007', '"\t"', '"\\x"', '-', '1.5'])(
  'a line that is too long and ends with %s, which is no id in JSON, is left out without an id',
  async (id) => {
    const { stream, passed, tooLong } = gate(100);
    stream.write(`1 {"method":"tools/call","params":{"text":"${'x'.repeat(20_000)}"},"id":${id}}\n2 {}\n`);
    await ended(stream);
    expect(tooLong).toEqual([undefined]);
    expect(passed).toEqual(['2 {}\n']);
  },
);
