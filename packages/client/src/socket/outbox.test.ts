import { splitFrames } from '@signalbox/protocol';
import { expect, it } from 'vitest';
import { HandClock } from '../../test/hand-clock.ts';
import { Outbox } from './outbox.ts';

function typesOf(message: string): string[] {
  return [...splitFrames(message)].map(({ header }) => JSON.parse(header).type);
}

function workOf(text: string) {
  return { encode: () => `{"type":"deliver","note":"${text}"}\n` };
}

it('sends what one turn gathered as one message, control before work and acks as one frame', async () => {
  const outbox = new Outbox(new HandClock());
  const { promise, resolve } = Promise.withResolvers<string>();
  const sent: string[] = [];
  outbox.attach((text) => {
    sent.push(text);
    resolve(text);
  });
  outbox.deliver(workOf('a'));
  outbox.ack(1);
  outbox.deliver(workOf('b'));
  outbox.working(3);
  outbox.ack(2);
  outbox.cancel('agent', 'id');
  expect(typesOf(await promise)).toEqual(['cancel', 'working', 'ack', 'deliver', 'deliver']);
  expect(sent).toHaveLength(1);
  expect(sent[0]).toContain('"seqs":[1,2]');
});

it('splits a long batch between frames', () => {
  const outbox = new Outbox(new HandClock());
  const sent: string[] = [];
  outbox.attach((text) => sent.push(text));
  for (let i = 0; i < 5; i++) outbox.deliver(workOf('x'.repeat(25 * 1024)));
  outbox.flush();
  expect(sent.map((text) => typesOf(text).length)).toEqual([2, 2, 1]);
});

it('sends the first of much work before the turn ends, and nothing twice', () => {
  const outbox = new Outbox(new HandClock());
  const sent: string[] = [];
  outbox.attach((text) => sent.push(text));
  for (let i = 0; i < 40; i++) outbox.deliver(workOf(`${i}`));
  expect(sent.map((text) => typesOf(text).length)).toEqual([16, 16]);
  outbox.flush();
  const notes = sent.flatMap((text) => [...splitFrames(text)].map(({ header }) => JSON.parse(header).note));
  expect(notes).toEqual(Array.from({ length: 40 }, (_, i) => `${i}`));
});

it('leaves out work that was cancelled before it left', () => {
  const outbox = new Outbox(new HandClock());
  const sent: string[] = [];
  outbox.attach((text) => sent.push(text));
  outbox.deliver({ encode: () => undefined });
  outbox.deliver(workOf('kept'));
  outbox.flush();
  expect(sent.map(typesOf)).toEqual([['deliver']]);
});

it('keeps cancels while there is no connection, and forgets acks, which would not count on another', () => {
  const outbox = new Outbox(new HandClock());
  outbox.ack(1);
  outbox.cancel('agent', 'id');
  const sent: string[] = [];
  outbox.attach((text) => sent.push(text));
  outbox.flush();
  expect(sent.map(typesOf)).toEqual([['cancel']]);
});

/** Attaches a connection, and waits for the turn in which it sends what was kept for it. */
async function attached(outbox: Outbox, send: (text: string) => void): Promise<void> {
  outbox.attach(send);
  await new Promise((resolve) => setImmediate(resolve));
}

it('lets acks wait for the next frame, and sends them by themselves after 5 ms', async () => {
  const clock = new HandClock();
  const outbox = new Outbox(clock);
  const sent: string[] = [];
  await attached(outbox, (text) => sent.push(text));
  outbox.ackLater(1);
  outbox.ackLater(2);
  clock.advance(4);
  expect(sent).toEqual([]);
  clock.advance(5);
  expect(sent).toEqual(['{"type":"ack","seqs":[1,2]}\n']);
  outbox.ackLater(3);
  outbox.deliver(workOf('next'));
  outbox.flush();
  expect(sent.slice(1).map(typesOf)).toEqual([['ack', 'deliver']]);
  expect(clock.running).toBe(0);
});

it('lets no more acks wait than 16: they leave in the same turn', async () => {
  const clock = new HandClock();
  const outbox = new Outbox(clock);
  const { promise, resolve } = Promise.withResolvers<string>();
  await attached(outbox, resolve);
  for (let seq = 1; seq <= 16; seq++) outbox.ackLater(seq);
  expect(typesOf(await promise)).toEqual(['ack']);
  expect(clock.running).toBe(0);
});
