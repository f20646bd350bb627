import { SharedRoom } from '@signalbox/serving';
import type { ResumableAnswer } from './resumable-answer.ts';

/** The time in milliseconds for which a broken stream can be resumed. The face looks at it each 30 s. */
export const resumableMs = 60_000;

const MiB = 1024 * 1024;

/** The answers, and their bytes, that a face keeps for clients that may not have got them. */
export type PastRoom = SharedRoom<'answers' | 'bytes'>;

/** Makes the room of a face for the answers of all agents. */
export function pastRoom(): PastRoom {
  return new SharedRoom({ answers: { each: 64, all: 4096 }, bytes: { each: 4 * MiB, all: 32 * MiB } });
}

interface PastAnswer {
  answer: ResumableAnswer;
  bytes: number;
  answeredAt: number;
}

/** The newest answers to one agent that went into streams. A connection may have broken with an answer on its way. */
export class PastAnswers {
  readonly #agent: string;
  readonly #room: PastRoom;
  readonly #now: () => number;
  /** The answers by session and stream, the oldest first. */
  readonly #answers = new Map<string, PastAnswer>();

  constructor(agent: string, room: PastRoom, now: () => number) {
    this.#agent = agent;
    this.#room = room;
    this.#now = now;
  }

  /** Keeps an answer. Older ones of the agent make room for it; it is not kept if there is none. */
  add(session: string, answer: ResumableAnswer): void {
    const key = keyOf(session, answer.stream);
    this.#drop(key);
    const { bytes } = answer;
    for (let shortage = this.#take(bytes); shortage; shortage = this.#take(bytes)) {
      const [oldest] = this.#answers.keys();
      if (shortage.isFinal || oldest === undefined) return;
      this.#drop(oldest);
    }
    this.#answers.set(key, { answer, bytes, answeredAt: this.#now() });
  }

  get(session: string, stream: string): ResumableAnswer | undefined {
    return this.#answers.get(keyOf(session, stream))?.answer;
  }

  /** Drops the answers that nobody can be waiting for any more. */
  sweep(): void {
    const since = this.#now() - resumableMs;
    for (const [key, { answeredAt }] of this.#answers) {
      if (answeredAt > since) return;
      this.#drop(key);
    }
  }

  clear(): void {
    for (const key of this.#answers.keys()) this.#drop(key);
  }

  #take(bytes: number) {
    return this.#room.take(this.#agent, { answers: 1, bytes });
  }

  #drop(key: string): void {
    const past = this.#answers.get(key);
    if (!past) return;
    this.#answers.delete(key);
    this.#room.giveBack(this.#agent, { answers: 1, bytes: past.bytes });
  }
}

function keyOf(session: string, stream: string): string {
  return `${session} ${stream}`;
}
