import type { BrokerClient, Log } from '@signalbox/client';
import type { StartTimer } from '@signalbox/client/internal';
import { agentOf, messageOf } from '@signalbox/protocol';

/** A question of another agent that waits in the agent's own inbox. */
export interface WaitingQuestion {
  readonly seq: number;
  readonly id: string;
  /** The agent that asks, as the broker attests it. */
  readonly from: string;
}

export interface WaitingQuestionsOptions {
  /** Returns whether the agent has the tools to read and answer a question. */
  isWanted: () => boolean;
  /** Returns the sequence numbers of messages that the agent has read and not finished with. */
  read: () => readonly number[];
  /** The time that a wait lasts before questions from other agents end it, in milliseconds. */
  othersAfterMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
  startTimer: StartTimer;
  log: Log;
}

/** One wait for an answer. Disposing it ends the watch over the inbox, if it was the last one. */
export interface QuestionWatch extends Disposable {
  /** Resolves with the questions that should end the wait; may never resolve. */
  readonly found: Promise<readonly WaitingQuestion[]>;
}

/** The time before the first look at the inbox, in milliseconds. Most questions have their answer by then. */
const firstLookMs = 250;
const lookEveryMs = 1_000;
const pageMessages = 200;
/** The most pages of one look; the next look goes on where it ended. */
const maxPages = 10;

interface Wait {
  /** The question whose answer is waited for. */
  readonly askId: string;
  readonly asked: string;
  readonly since: number;
  readonly found: PromiseWithResolvers<readonly WaitingQuestion[]>;
}

/**
 * Finds questions to the agent that it cannot see while it waits for an answer: two agents that ask each other would both wait until their
 * calls end. It looks into the inbox only while an answer is waited for, at most once a second for all waits together, and does not take
 * the inbox. An agent is told about a question of another agent once, and about one from the agent that it asked once for each ask.
 */
export class WaitingQuestions {
  readonly #client: Pick<BrokerClient, 'agent' | 'peek'>;
  readonly #options: WaitingQuestionsOptions;
  readonly #waits = new Set<Wait>();
  /** The questions that the agent was told about, by `seq`, with the asks for which it was told. */
  readonly #told = new Map<number, Set<string>>();
  /** Messages up to this number are no questions, or the agent was told about them. */
  #lookedUpTo = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;
  #isLooking = false;

  constructor(client: Pick<BrokerClient, 'agent' | 'peek'>, options: WaitingQuestionsOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Watches the inbox while the answer to an ask is waited for. */
  watch(ask: { id: string; to: string }): QuestionWatch {
    const found = Promise.withResolvers<readonly WaitingQuestion[]>();
    const wait: Wait = { askId: ask.id, asked: agentOf(ask.to), since: this.#options.now(), found };
    this.#waits.add(wait);
    // A new ask also counts old questions, if the agent that it asks is waiting for their answers.
    this.#lookedUpTo = 0;
    this.#schedule();
    return {
      found: found.promise,
      [Symbol.dispose]: () => {
        this.#waits.delete(wait);
        if (this.#waits.size > 0) return;
        this.#cancelTimer?.();
        this.#cancelTimer = undefined;
      },
    };
  }

  #schedule(): void {
    if (this.#cancelTimer !== undefined || this.#isLooking || this.#waits.size === 0) return;
    const { now, startTimer } = this.#options;
    const sinceLook = now() - this.#lookedAt;
    this.#cancelTimer = startTimer(() => void this.#look(), Math.max(firstLookMs, lookEveryMs - sinceLook));
  }

  async #look(): Promise<void> {
    this.#cancelTimer = undefined;
    this.#isLooking = true;
    this.#lookedAt = this.#options.now();
    try {
      if (this.#options.isWanted()) this.#tell(await this.#questions());
    } catch (thrown) {
      this.#options.log({ event: 'questions_not_known', reason: messageOf(thrown) });
    } finally {
      this.#isLooking = false;
      this.#schedule();
    }
  }

  /** Reads the waiting questions that the agent has not read, the oldest first. */
  async #questions(): Promise<WaitingQuestion[]> {
    const { agent } = this.#client;
    const from = this.#lookedUpTo;
    const questions: WaitingQuestion[] = [];
    let after = from;
    for (let page = 0; page < maxPages; page++) {
      const messages = await this.#client.peek({ address: agent, after, limit: pageMessages, bodies: false });
      for (const { seq, id, kind, from, remaining_ms: leftMs = 1 } of messages)
        if (seq !== undefined && kind === 'ask' && leftMs > 0) questions.push({ seq, id, from: from.agent });
      const last = messages.at(-1)?.seq;
      if (last === undefined) break;
      after = last;
    }
    // A wait that began meanwhile needs all of them.
    if (this.#lookedUpTo === from) this.#lookedUpTo = after;
    if (from === 0) this.#forgetSettled(questions);
    const read = new Set(this.#options.read());
    return questions.filter(({ seq }) => !read.has(seq));
  }

  #tell(questions: readonly WaitingQuestion[]): void {
    const waits = [...this.#waits];
    const now = this.#options.now();
    const untold = questions.filter((question) => waits.some((wait) => !this.#isTold(question, wait)));
    const isDue = (question: WaitingQuestion, wait: Wait): boolean =>
      !this.#isTold(question, wait) &&
      (question.from === wait.asked || now - wait.since >= this.#options.othersAfterMs);
    const due = untold.filter((question) => waits.some((wait) => isDue(question, wait)));
    const [next] = untold.filter((question) => !due.includes(question));
    if (next) this.#lookedUpTo = Math.min(this.#lookedUpTo, next.seq - 1);
    if (due.length === 0) return;
    // Calls of one turn of a model often end together or not at all, so all of them are told.
    for (const { askId, found } of waits) {
      found.resolve(due);
      for (const { seq } of due) this.#told.set(seq, (this.#told.get(seq) ?? new Set()).add(askId));
    }
  }

  #isTold({ seq, from }: WaitingQuestion, { askId, asked }: Wait): boolean {
    const told = this.#told.get(seq);
    return from === asked ? told?.has(askId) === true : told !== undefined;
  }

  #forgetSettled(waiting: readonly WaitingQuestion[]): void {
    const seqs = new Set(waiting.map(({ seq }) => seq));
    for (const seq of this.#told.keys()) if (!seqs.has(seq)) this.#told.delete(seq);
  }
}
