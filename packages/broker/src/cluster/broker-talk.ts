import type { PresencePort } from '@signalbox/store';

/** A note, a question or an answer from one broker to others, which is sent as JSON. */
type Told =
  | { note: { kind: string; from: string; about: unknown } }
  | { ask: { id: string; kind: string; from: string; about: unknown } }
  | { answer: { id: string; from: string; result: unknown } };

/** The dependencies of {@link BrokerTalk}. */
export interface BrokerTalkDeps {
  presence: Pick<PresencePort, 'broker' | 'brokers' | 'tellBrokers' | 'onTold'>;
  newId: () => string;
  /** Called if a message from another broker could not be handled. */
  onError: (error: unknown) => void;
}

/** Lets the brokers on one store send notes and questions to each other. Notes, questions and answers may be lost on the way. */
export class BrokerTalk {
  readonly #deps: BrokerTalkDeps;
  readonly #handlers = new Map<string, (about: never, from: string) => unknown>();
  /** The questions of this broker that wait for answers. */
  readonly #asked = new Map<string, (from: string, result: unknown) => void>();

  constructor(deps: BrokerTalkDeps) {
    this.#deps = deps;
    deps.presence.onTold((text) => void this.#told(text).catch(deps.onError));
  }

  /** The name of this broker; `undefined` if there is never another one. */
  get self(): string | undefined {
    return this.#deps.presence.broker;
  }

  /** Handles notes and questions of one kind from now on. The handler returns the answer. */
  on<About>(kind: string, handler: (about: About, from: string) => unknown): void {
    this.#handlers.set(kind, handler);
  }

  /** Sends a note to all other brokers, or to one. */
  async note(kind: string, about: unknown, to?: string): Promise<void> {
    const { broker } = this.#deps.presence;
    if (broker !== undefined) await this.#tell({ note: { kind, from: broker, about } }, to);
  }

  /**
   * Asks all other living brokers, and waits for each of them for the given time. Returns the names of those that did not answer as
   * `silent`.
   */
  async askAll<Answer>(
    kind: string,
    about: unknown,
    withinMs: number,
  ): Promise<{ answers: Answer[]; silent: string[] }> {
    const { presence, newId } = this.#deps;
    const { broker } = presence;
    const answers: Answer[] = [];
    if (broker === undefined) return { answers, silent: [] };
    const names = (await presence.brokers()).map(({ name }) => name);
    const silent = new Set(names.filter((name) => name !== broker));
    if (silent.size === 0) return { answers, silent: [] };
    const id = newId();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    this.#asked.set(id, (from, result) => {
      if (!silent.delete(from)) return;
      answers.push(result as Answer);
      if (silent.size === 0) resolve();
    });
    try {
      await this.#tell({ ask: { id, kind, from: broker, about } });
      await promise;
    } finally {
      clearTimeout(timer);
      this.#asked.delete(id);
    }
    return { answers, silent: [...silent] };
  }

  async #tell(told: Told, to?: string): Promise<void> {
    await this.#deps.presence.tellBrokers(JSON.stringify(told), to);
  }

  async #told(text: string): Promise<void> {
    const told = JSON.parse(text) as Told;
    if ('answer' in told) {
      const { id, from, result } = told.answer;
      this.#asked.get(id)?.(from, result);
      return;
    }
    const { kind, from, about } = 'note' in told ? told.note : told.ask;
    const result = await this.#handlers.get(kind)?.(about as never, from);
    const { broker } = this.#deps.presence;
    if ('ask' in told && broker !== undefined)
      await this.#tell({ answer: { id: told.ask.id, from: broker, result } }, from);
  }
}
