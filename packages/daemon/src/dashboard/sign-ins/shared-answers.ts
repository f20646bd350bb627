import type { BrokerClient } from '@signalbox/client';
import type { AdminOp } from '@signalbox/protocol';

/** The longest time for which an answer of the broker serves other sign-ins, in milliseconds. */
const sharedMs = 1000;

/** The operations whose answers are the same for all operators, and of which the broker records no read in the audit log. */
const sharedOps: ReadonlySet<AdminOp> = new Set<AdminOp>([
  'stats',
  'waiting',
  'failures',
  'clock',
  'holds',
  'hooks',
  'schedules',
  'samples',
]);

interface Answer {
  /** The time when the broker was asked, in monotonic milliseconds. */
  at: number;
  answer: Promise<unknown>;
  /** The reads that were given this answer. */
  readers: Set<string>;
}

/** The client with which one read asks the broker. */
export interface SharingClient {
  client: BrokerClient;
  /** Returns how much older the oldest shared answer is than the read, in milliseconds. */
  ageMs(): number;
}

/**
 * The answers that several operators' pages share if they ask the broker for the same within a second: most of what they show is computed
 * from all agents. A read that is repeated gets a new answer each time.
 */
export class SharedAnswers {
  readonly #monotonic: () => number;
  readonly #answers = new Map<string, Answer>();

  /** `monotonic` returns milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Returns a client for one read of an operator. `reader` names the sign-in and the read. */
  clientOf(client: BrokerClient, reader: string): SharingClient {
    const begun = this.#monotonic();
    let oldest = begun;
    const share = <Result>(question: unknown[], ask: () => Promise<Result>): Promise<Result> => {
      const text = JSON.stringify(question);
      const shared = this.#shared(text, reader);
      if (!shared) return this.#ask(text, reader, ask);
      oldest = Math.min(oldest, shared.at);
      // The connection of the sign-in that asked may have ended, or it was refused.
      return (shared.answer as Promise<Result>).catch(ask);
    };
    const shared: Partial<BrokerClient> = {
      admin: (op, params) =>
        sharedOps.has(op)
          ? share(['admin', op, params], () => client.admin(op, params))
          : client.admin(op, params),
      listConnected: (options) => share(['connected', options], () => client.listConnected(options)),
    };
    return {
      client: new Proxy(client, {
        get(target, name) {
          const own: unknown = Reflect.get(shared, name) ?? Reflect.get(target, name, target);
          return typeof own === 'function' ? own.bind(target) : own;
        },
      }),
      ageMs: () => begun - oldest,
    };
  }

  /** Forgets all answers, after a command: those who sent it see what it changed. */
  forget(): void {
    this.#answers.clear();
  }

  /** Returns an answer that is young enough, and that this read was not given yet. */
  #shared(question: string, reader: string): Answer | undefined {
    const known = this.#answers.get(question);
    if (!known || this.#monotonic() - known.at >= sharedMs || known.readers.has(reader)) return undefined;
    known.readers.add(reader);
    return known;
  }

  #ask<Result>(question: string, reader: string, ask: () => Promise<Result>): Promise<Result> {
    const answer = ask();
    const asked = { at: this.#monotonic(), answer, readers: new Set([reader]) };
    this.#answers.set(question, asked);
    const drop = (): void => {
      if (this.#answers.get(question) === asked) this.#answers.delete(question);
    };
    answer.catch(drop);
    setTimeout(drop, sharedMs).unref();
    return answer;
  }
}
