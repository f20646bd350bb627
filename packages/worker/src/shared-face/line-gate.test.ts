import { setImmediate as nextTurn } from 'node:timers/promises';
import { Budget, defaultFaceLimits, Slices } from '@signalbox/serving';
import { expect, test } from 'vitest';
import { FaceRoom } from '../http/face-room.ts';
import { HalfLine } from './half-line.ts';
import { createLineGate, type LeftOutLine } from './line-gate.ts';

const newRoom = (bytesPerAgent: number) => new FaceRoom({ ...defaultFaceLimits, bytesPerAgent });

function gate(maxLineBytes: number, { slices = new Slices(8), room = newRoom(1e6) } = {}) {
  const leftOut: LeftOutLine[] = [];
  const passed: string[] = [];
  const stream = createLineGate({
    maxLineBytes,
    budget: new Budget(1e9, 1e9, 0),
    slices,
    slot: room.slot('rosa'),
    now: () => 0,
    onLeftOut: (line) => void leftOut.push(line),
  });
  stream.on('data', (chunk) => void passed.push(...(String(chunk).match(/.*\n/g) ?? [])));
  return { stream, leftOut, passed };
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

test('many lines in one chunk are passed on a few at a time, so that others have their slice', async () => {
  const { stream, passed } = gate(100);
  stream.write('1 {}\n'.repeat(100));
  await nextTurn();
  expect(passed.length).toBeGreaterThan(0);
  expect(passed.length).toBeLessThan(50);
  await ended(stream);
  expect(passed).toHaveLength(100);
});

test('a line that is too long is left out with the id of its request, and the next one is passed on', async () => {
  const { stream, passed, leftOut } = gate(10_000);
  const text = 'x'.repeat(20_000);
  const first = JSON.stringify({ jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { text } });
  const last = JSON.stringify({ method: 'tools/call', params: { text, id: 7 }, jsonrpc: '2.0', id: 5 });
  const none = JSON.stringify({ method: 'notifications/x', params: { id: 7, text, list: [{ id: 8 }] } });
  for (const line of [first, last, none]) {
    const bytes = Buffer.from(`1 ${line}\n2 {}\n`);
    for (let at = 0; at < bytes.length; at += 1000) stream.write(bytes.subarray(at, at + 1000));
  }
  await ended(stream);
  expect(leftOut).toEqual([{ id: 'a' }, { id: 5 }, { id: undefined }]);
  expect(passed).toEqual(['2 {}\n', '2 {}\n', '2 {}\n']);
});

test.each(['007', '"\t"', '"\\x"', '-', '1.5'])(
  'a line that is too long and ends with %s, which is no id in JSON, is left out without an id',
  async (id) => {
    const { stream, passed, leftOut } = gate(100);
    stream.write(`1 {"method":"tools/call","params":{"text":"${'x'.repeat(20_000)}"},"id":${id}}\n2 {}\n`);
    await ended(stream);
    expect(leftOut).toEqual([{ id: undefined }]);
    expect(passed).toEqual(['2 {}\n']);
  },
);

test('the connections of one agent share its slices, and each of them has some', async () => {
  const slices = new Slices(8);
  const gates = [gate(100, { slices }), gate(100, { slices })];
  for (const { stream } of gates) stream.write('1 {}\n'.repeat(100));
  const passed = () => gates.map(({ passed }) => passed.length);
  for (let n = 0; n < 4; n++) await nextTurn();
  const [first, second] = passed() as [number, number];
  expect(first + second).toBeLessThanOrEqual(5 * 8);
  expect(Math.min(first, second)).toBeGreaterThanOrEqual(8);
  await Promise.all(gates.map(({ stream }) => ended(stream)));
  expect(passed()).toEqual([100, 100]);
});

test('a long line takes the slices of many short ones', async () => {
  const slices = new Slices(8);
  const long = gate(1_000_000, { slices });
  long.stream.write(`${'x'.repeat(800_000)}\n`);
  let waited = 0;
  for (; slices.isOver; waited++) await nextTurn();
  expect(waited).toBeGreaterThan(5);
});

test('half lines take room of their agent, and a request for which there is none is left out with the reason', async () => {
  const room = newRoom(100_000);
  const [first, second] = [gate(90_000, { room }), gate(90_000, { room })];
  const half = `1 {"jsonrpc":"2.0","id":7,"method":"tools/call","params":"${'x'.repeat(70_000)}`;
  for (const { stream } of [first, second]) stream.write(half);
  second.stream.write('"}\n2 {}\n');
  await expect.poll(() => second.passed).toEqual(['2 {}\n']);
  expect(second.leftOut).toEqual([
    { id: 7, noRoom: expect.stringContaining("agent 'rosa' has 100000 bytes of requests under way here") },
  ]);
  first.stream.write('"}\n');
  await expect.poll(() => first.passed).toEqual([`${half}"}\n`]);
  second.stream.write(`${half}"}\n`);
  await expect.poll(() => second.passed.length).toBe(2);
});

test('the bytes of a line that come one by one take no more memory than the line', () => {
  const half = new HalfLine();
  for (let n = 0; n < 100_000; n++) half.add(Buffer.of(n % 256));
  const line = half.take();
  expect(line.buffer.byteLength).toBeLessThan(2 * 100_000);
  expect(line).toEqual(Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 256)));
  expect(half.bytes).toBe(0);
});
