import type { Appended, Batch, InboxStore, NewMessage, Settlement } from '@signalbox/store';
import type { Body, PeerClient } from '../peers/peer.ts';

const hour = 60 * 60 * 1000;
const quota = {
  sender: { messages: 1e9, bytes: 1e12 },
  senderToRecipient: { messages: 1e9, bytes: 1e12 },
};

/**
 * A client and a responder that use a store as a broker does: what comes while a commit runs is the next commit. A request is stored, its
 * reply is stored and settles it, and then the reply is settled.
 */
export function storeClient(store: InboxStore): PeerClient & { idle(): Promise<void> } {
  const commits = new Commits(store);
  const started = Date.now().toString(36);
  const message = (body: Body, inbox: string, sender: string): NewMessage => {
    const createdAt = Date.now();
    const id = `${sender}-${started}-${body.n.toString(36).padStart(8, '0')}`;
    const times = { createdAt, expiresAt: createdAt + hour };
    const common = { senderAddress: sender, senderRole: 'worker', kind: 'note', quota };
    return { inbox, id, sender, ...common, ...times, body: JSON.stringify(body) };
  };
  return {
    enqueue: (to, body) => commits.append(message(body, to, 'client')),
    request: async (body) => {
      const request = message(body, 'server', 'client');
      const asked = await commits.append({ ...request, kind: 'ask', openUntil: request.expiresAt });
      const reply = message(body, 'client', 'server');
      const settles = { inbox: 'server', seq: asked.seq };
      const answer = { kind: 'reply', correlationId: request.id, answers: 'client', settles };
      const answered = await commits.append({ ...reply, ...answer });
      commits.settle({ inbox: 'client', seq: answered.seq, outcome: 'acked' });
      return JSON.parse(reply.body!) as Body;
    },
    idle: () => commits.idle(),
    [Symbol.asyncDispose]: () => commits.idle(),
  };
}

type Stored = Extract<Appended, { result: 'stored' }>;

class Commits {
  readonly #store: InboxStore;
  #messages: NewMessage[] = [];
  #settlements: Settlement[] = [];
  #waiting: { resolve: (stored: Stored) => void; reject: (error: unknown) => void }[] = [];
  #running: Promise<void> | undefined;

  constructor(store: InboxStore) {
    this.#store = store;
  }

  append(message: NewMessage): Promise<Stored> {
    this.#messages.push(message);
    this.#running ??= this.#run();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  settle(settlement: Settlement): void {
    this.#settlements.push(settlement);
    this.#running ??= this.#run();
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    for (;;) {
      await new Promise(setImmediate);
      const batch: Batch = { messages: this.#messages, settlements: this.#settlements, attempts: [] };
      const waiting = this.#waiting;
      if (batch.messages.length + batch.settlements.length === 0) break;
      this.#messages = [];
      this.#settlements = [];
      this.#waiting = [];
      try {
        const appended = await this.#store.commit(batch);
        await this.#store.sync();
        appended.forEach((one, n) => {
          if (one.result === 'stored') waiting[n]!.resolve(one);
          else waiting[n]!.reject(new Error(`a message was not stored: ${one.result}`));
        });
      } catch (error) {
        for (const { reject } of waiting) reject(error);
      }
    }
    this.#running = undefined;
  }
}
