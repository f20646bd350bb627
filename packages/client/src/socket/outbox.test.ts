import { splitFrames } from '@signalbox/protocol';
import { expect, it } from 'vitest';
import { Outbox } from './outbox.ts';

function typesOf(message: string): string[] {
  return [...splitFrames(message)].map(({ header }) => JSON.parse(header).type);
}

function workOf(text: string) {
  return { encode: () => `{"type":"deliver","note":"${text}"}\n` };
}

it('sends what one turn gathered as one message, control before work and acks as one frame', async () => {
  const outbox = new Outbox(() => 0);
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
  const outbox = new Outbox(() => 0);
  const sent: string[] = [];
  outbox.attach((text) => sent.push(text));
  for (let i = 0; i < 5; i++) outbox.deliver(workOf('x'.repeat(25 * 1024)));
  outbox.flush();
  expect(sent.map((text) => typesOf(text).length)).toEqual([2, 2, 1]);
});

it('sends the first of much work before the turn ends, and nothing twice', () => {
  const outbox = new Outbox(() => 0);
  const sent: string[] = [];
  outbox.attach((text) => sent.push(text));
  for (let i = 0; i < 40; i++) outbox.deliver(workOf(`${i}`));
  expect(sent.map((text) => typesOf(text).length)).toEqual([16, 16]);
  outbox.flush();
  const notes = sent.flatMap((text) => [...splitFrames(text)].map(({ header }) => JSON.parse(header).note));
  expect(notes).toEqual(Array.from({ length: 40 }, (_, i) => `${i}`));
});

it('leaves out work that was called off before it left', () => {
  const outbox = new Outbox(() => 0);
  const sent: string[] = [];
  outbox.attach((text) => sent.push(text));
  outbox.deliver({ encode: () => undefined });
  outbox.deliver(workOf('kept'));
  outbox.flush();
  expect(sent.map(typesOf)).toEqual([['deliver']]);
});

it('keeps cancels while there is no connection, and forgets acks, which would not count on another', () => {
  const outbox = new Outbox(() => 0);
  outbox.ack(1);
  outbox.cancel('agent', 'id');
  const sent: string[] = [];
  outbox.attach((text) => sent.push(text));
  outbox.flush();
  expect(sent.map(typesOf)).toEqual([['cancel']]);
});
