import type { QuestionMethod } from '@signalbox/protocol';
import { instanceFacts } from '../config/instance-name.ts';
import type { HostEvent } from '../host-event.ts';
import { type Refusal, refusalText } from './question-refusal.ts';

/** The time in which a refusal is logged once for each reason, in milliseconds. */
const quietMs = 60_000;

/** The counts of a server's questions that were passed to callers and that were refused, and the reason of the last refusal. */
export interface AskedQuestions {
  asked: number;
  refused: number;
  lastRefusal: string | undefined;
}

/** The dependencies of {@link QuestionCounts}. */
export interface QuestionCountsDeps {
  /** The name of the server in the configuration. */
  server: string;
  /** Monotonic milliseconds. */
  now: () => number;
  log: (event: HostEvent) => void;
}

/** Counts the questions of a server, and logs the refused ones. */
export class QuestionCounts {
  readonly #deps: QuestionCountsDeps;
  readonly #quietUntil = new Map<Refusal, number>();
  #asked = 0;
  #refused = 0;
  #lastRefusal: string | undefined;

  constructor(deps: QuestionCountsDeps) {
    this.#deps = deps;
  }

  get counts(): AskedQuestions {
    return { asked: this.#asked, refused: this.#refused, lastRefusal: this.#lastRefusal };
  }

  /** Counts a question that was passed on. */
  asked(): void {
    this.#asked++;
  }

  /** Counts a question that was refused. */
  refused(instance: string, method: QuestionMethod, why: Refusal): void {
    this.#refused++;
    this.#lastRefusal = refusalText(method, why);
    const { server, now, log } = this.#deps;
    const time = now();
    if (time < (this.#quietUntil.get(why) ?? Number.NEGATIVE_INFINITY)) return;
    this.#quietUntil.set(why, time + quietMs);
    const facts = instanceFacts(server, instance);
    log({ event: 'question_refused', ...facts, method, reason: why, refused: this.#refused });
  }
}
