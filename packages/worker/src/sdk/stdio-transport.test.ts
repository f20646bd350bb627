import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { StdioTransport } from './stdio-transport.ts';

async function opened() {
  const input = new PassThrough();
  const output = new PassThrough();
  const transport = new StdioTransport(input, output);
  const received: JSONRPCMessage[] = [];
  const errors: string[] = [];
  transport.onmessage = (message) => void received.push(message);
  transport.onerror = ({ message }) => void errors.push(message);
  const closed = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  await transport.start();
  return { input, output, transport, received, errors, closed };
}

const ping = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, method: 'ping' });

test('messages are read wherever the stream is cut, and what is none is skipped', async () => {
  const { input, received, errors } = await opened();
  const text = `${JSON.stringify({ ...ping(1), params: { text: 'é日' } })}\r\n\nhello\n17\n${JSON.stringify(ping(2))}\n`;
  for (const byte of Buffer.from(text)) input.write(Buffer.of(byte));
  await nextTurn();
  expect(received).toEqual([{ ...ping(1), params: { text: 'é日' } }, ping(2)]);
  expect(errors).toEqual(['the client wrote JSON that is no message']);
});

test('the messages of one turn leave in one write', async () => {
  const { output, transport } = await opened();
  void transport.send(ping(1));
  await Promise.resolve();
  void transport.send(ping(2));
  const [chunk] = await once(output, 'data');
  expect(String(chunk)).toBe(`${JSON.stringify(ping(1))}\n${JSON.stringify(ping(2))}\n`);
});

test('the end of the input closes it; what was sent before has left, and nothing can be sent after', async () => {
  const { input, output, transport, closed } = await opened();
  void transport.send(ping(1));
  input.end();
  await closed;
  expect(String(output.read())).toBe(`${JSON.stringify(ping(1))}\n`);
  await expect(transport.send(ping(2))).rejects.toThrow('closed');
});

test('an output that breaks closes it', async () => {
  const { output, errors, closed } = await opened();
  output.destroy(new Error('nobody reads'));
  await closed;
  expect(errors).toEqual(['nobody reads']);
});

test('a request of too many values is answered with the reason and not parsed, and the next one is read', async () => {
  const { input, output, received, errors } = await opened();
  const values = (count: number) => `[${'{},'.repeat(count)}{}]`;
  const call = (id: number, many: string) =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"many":${many}}}\n`;
  input.write(call(1, values(1_000_000)));
  input.write(`{"jsonrpc":"2.0","method":"notifications/x","params":${values(1_000_000)}}\n`);
  input.write(call(2, values(100_000)));
  await nextTurn();
  expect(received).toMatchObject([{ id: 2, method: 'tools/call' }]);
  expect(errors).toHaveLength(2);
  expect(JSON.parse(String(output.read()))).toMatchObject({
    id: 1,
    error: { code: -32600, message: expect.stringContaining('more than 250000 values and names') },
  });
});
