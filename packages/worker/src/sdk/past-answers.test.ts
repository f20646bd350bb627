import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { answerStreamOf, readEventId } from './event-id.ts';
import type { HttpReply, ReplyHead } from './http-reply.ts';
import { PastAnswers, pastRoom } from './past-answers.ts';
import { ResumableAnswer } from './resumable-answer.ts';

const notification = (text: string) =>
  ({ jsonrpc: '2.0', method: 'notifications/x', params: { text } }) as const;

/** A reply to a client that reads everything. */
class ReadReply implements HttpReply {
  readonly takesEvents = true;
  readonly isClosed = false;
  onHangUp: (() => void) | undefined;
  onStream: (() => string | undefined) | undefined;
  /** The numbers of the events. */
  readonly numbers: number[] = [];
  status: number | undefined;
  isPlaceKept = false;

  tell = (_message: unknown, eventId = '') => {
    this.numbers.push(readEventId(eventId)!.number);
    return true;
  };

  json = (message: unknown, { eventId }: ReplyHead = {}) => void this.tell(message, eventId);
  openStream = () => {};
  refuse = () => {};
  pass = async () => {};

  end = (status?: number) => {
    this.status = status;
  };

  keepSlot = () => {
    this.isPlaceKept = true;
    return () => {
      this.isPlaceKept = false;
    };
  };
}

function answered(id: number, ...before: JSONRPCMessage[]): ResumableAnswer {
  const answer = new ResumableAnswer(answerStreamOf(id)!, new ReadReply(), () => 0);
  for (const message of before) answer.tell(message);
  answer.json({ jsonrpc: '2.0', id, result: { text: 'x'.repeat(1000) } });
  return answer;
}

function missedBy(answer: ResumableAnswer, after: number): number[] {
  const reply = new ReadReply();
  answer.resume(reply, after);
  return reply.numbers;
}

test('Of what comes before an answer, the newest 32 messages of 32 KiB are kept, and every question.', () => {
  const question = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: {} } as const;
  const many = answered(1, question, ...Array.from({ length: 50 }, () => notification('n')));
  expect(missedBy(many, 0)).toEqual([1, ...Array.from({ length: 31 }, (_, i) => i + 21), 52]);
  const long = answered(2, notification('x'.repeat(20_000)), notification('y'.repeat(20_000)));
  expect(missedBy(long, 0)).toEqual([2, 3]);
  expect(missedBy(long, 2)).toEqual([3]);
});

test('A request keeps its place until it is answered, whether its client is there or not.', () => {
  const first = new ReadReply();
  let now = 0;
  const answer = new ResumableAnswer(answerStreamOf(1)!, first, () => now);
  now = 5;
  first.onHangUp?.();
  expect([answer.leftAt, first.isPlaceKept]).toEqual([5, true]);
  expect(answer.tell(notification('meanwhile'))).toBe(true);
  answer.json({ jsonrpc: '2.0', id: 1, result: {} });
  expect(first.isPlaceKept).toBe(false);
  expect(missedBy(answer, 0)).toEqual([1, 2]);
});

test('64 answers to an agent, and 4 MiB of them, are kept for a minute; older ones make room, and no other agent loses any.', () => {
  let now = 0;
  const room = pastRoom();
  const [greedy, modest] = ['greedy', 'modest'].map((agent) => new PastAnswers(agent, room, () => now)) as [
    PastAnswers,
    PastAnswers,
  ];
  const streams = (of: PastAnswers) =>
    Array.from({ length: 80 }, (_, id) => id).filter((id) => of.get('session', answerStreamOf(id)!));
  modest.add('session', answered(7));
  for (let id = 0; id < 70; id++) greedy.add('session', answered(id));
  expect(streams(greedy)).toEqual(Array.from({ length: 64 }, (_, i) => i + 6));
  const large = new ResumableAnswer(answerStreamOf(70)!, new ReadReply(), () => 0);
  large.json({ jsonrpc: '2.0', id: 70, result: { text: 'x'.repeat(4 * 1024 * 1024 - 3000) } });
  greedy.add('session', large);
  expect(streams(greedy)).toEqual([68, 69, 70]);
  const tooLarge = new ResumableAnswer(answerStreamOf(71)!, new ReadReply(), () => 0);
  tooLarge.json({ jsonrpc: '2.0', id: 71, result: { text: 'x'.repeat(5 * 1024 * 1024) } });
  greedy.add('session', tooLarge);
  expect([streams(greedy), streams(modest)]).toEqual([[68, 69, 70], [7]]);
  now = 60_000;
  greedy.sweep();
  modest.clear();
  expect([streams(greedy), streams(modest), room.held('bytes')]).toEqual([[], [], 0]);
});
