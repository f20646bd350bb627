import { expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { brokerSender } from '../core/broker-sender.ts';
import { Outbox } from './outbox.ts';
import { OutboxFlusher } from './outbox-flusher.ts';
import { Reading } from './reading.ts';

/** Makes an outbox on a socket that takes everything, and notes what it is given. */
function outbox(name: string, sent: string[], flusher: OutboxFlusher): Outbox {
  const socket = {
    ...{ OPEN: 1, readyState: 1, bufferedAmount: 0 },
    send: (batch: string) => {
      const frames = batch.trimEnd().split('\n');
      sent.push(`${name}: ${frames.map((frame) => JSON.parse(frame).id).join(' ')}`);
    },
  };
  const bounds = { pauseBytes: 1e6, closeBytes: 1e6, liveLaneMessages: 10 };
  const ignore = (): void => {};
  const on = { dirty: flusher.add, drained: ignore, overflow: ignore };
  const webSocket = socket as unknown as WebSocket;
  return new Outbox(webSocket, new Reading(webSocket), bounds, on);
}

const receipt = (id: string) => ({ type: 'delivered', id }) as const;
const message = (id: string) =>
  ({ type: 'message', id, from: brokerSender, to: 'reader', kind: 'note', created_at: 1 }) as const;

it('sends what one step made for a connection in one piece, messages before receipts alone', async () => {
  const sent: string[] = [];
  const passed: string[] = [];
  const flusher = new OutboxFlusher((point) => passed.push(point));
  const [sender, reader] = [outbox('sender', sent, flusher), outbox('reader', sent, flusher)];
  await new Promise<void>((resolve) => setImmediate(resolve));
  sender.send(receipt('a'));
  reader.push(message('a'), undefined);
  await Promise.resolve();
  sender.send(receipt('b'));
  reader.push(message('b'), undefined);
  reader.send(receipt('c'));
  expect(sent).toEqual([]);
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(sent).toEqual(['reader: c a b', 'sender: a b']);
  expect(passed).toEqual(['broker.push.after']);
  sender.send(receipt('d'));
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(sent.slice(2)).toEqual(['sender: d']);
  expect(passed).toEqual(['broker.push.after']);
});
