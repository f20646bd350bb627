import { randomBytes } from 'node:crypto';
import type { BrokerClient } from '@signalbox/client';
import { followTail, type Tail, type TailEvent } from '@signalbox/client/operator';
import { EventRing } from './event-ring.ts';

/** The time for which events are collected, in milliseconds: pages get them at most four times per second. */
const collectMs = 250;
/** The time for which events are collected for a page whose stream broke off, in milliseconds. */
const lingerMs = 15_000;
const keptEvents = 1000;
const eventsAtOnce = 200;

/** Some events for one page. The next events begin at `id`. */
export interface EventBatch {
  id: string;
  events: TailEvent[];
  /** The number of events that the page was not sent, because there were too many. */
  missed: number;
}

/** A page that receives events. */
export interface EventReader {
  /** Takes a batch. Returns false if the page can't take it now: the events come later, or count as missed. */
  take(batch: EventBatch): boolean;
}

interface Reading {
  reader: EventReader;
  at: number;
}

/** Follows events while a page of the sign-in is open, and sends them to all its pages. */
export class LiveEvents implements Disposable {
  readonly #client: BrokerClient;
  readonly #orchestrator: string;
  readonly #ring = new EventRing<TailEvent>(keptEvents);
  readonly #readings = new Set<Reading>();
  /** Distinguishes this run from others, in which the same numbers mean other events. */
  #run = newRun();
  #tail: Promise<Tail> | undefined;
  #flush: NodeJS.Timeout | undefined;
  #end: NodeJS.Timeout | undefined;

  constructor(client: BrokerClient, orchestrator: string) {
    this.#client = client;
    this.#orchestrator = orchestrator;
  }

  /**
   * Sends a page the events from now on, or those after `lastId`. In the result, `resumed` is true if the page can go on after `lastId`;
   * otherwise it has missed events. Rejects if the broker sends no events.
   */
  async follow(reader: EventReader, lastId: string | undefined): Promise<{ resumed: boolean } & Disposable> {
    clearTimeout(this.#end);
    this.#tail ??= followTail(this.#client, {
      orchestrator: this.#orchestrator,
      onEvent: (event) => this.#add(event),
    });
    try {
      await this.#tail;
    } catch (error) {
      this.#tail = undefined;
      throw error;
    }
    const at = this.#numberOf(lastId);
    const reading: Reading = { reader, at: at ?? this.#ring.last };
    this.#readings.add(reading);
    if (at !== undefined) this.#tell(reading);
    return { resumed: at !== undefined, [Symbol.dispose]: () => this.#leave(reading) };
  }

  /** The id of the newest event. */
  get lastId(): string {
    return `${this.#run}.${this.#ring.last}`;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#flush);
    clearTimeout(this.#end);
    this.#readings.clear();
    this.#stop();
  }

  #numberOf(id: string | undefined): number | undefined {
    const [run, text] = (id ?? '').split('.');
    const number = Number(text);
    const isKnown = run === this.#run && Number.isSafeInteger(number) && number >= 0;
    return isKnown && number <= this.#ring.last ? number : undefined;
  }

  #add(event: TailEvent): void {
    this.#ring.push(event);
    this.#flush ??= setTimeout(() => this.#tellAll(), collectMs);
  }

  #tellAll(): void {
    this.#flush = undefined;
    for (const reading of this.#readings) this.#tell(reading);
  }

  #tell(reading: Reading): void {
    const { events, missed } = this.#ring.since(reading.at, eventsAtOnce);
    if (events.length === 0) return;
    if (reading.reader.take({ id: this.lastId, events, missed })) reading.at = this.#ring.last;
  }

  #leave(reading: Reading): void {
    this.#readings.delete(reading);
    if (this.#readings.size > 0) return;
    this.#end = setTimeout(() => this.#stop(), lingerMs);
    this.#end.unref();
  }

  #stop(): void {
    const tail = this.#tail;
    this.#tail = undefined;
    this.#run = newRun();
    void tail
      ?.then(async (following) => {
        following[Symbol.dispose]();
        if (this.#client.state.name !== 'closed') await this.#client.admin('tail', { on: false });
      })
      .catch(() => {
        // Nothing can be sent over a lost connection.
      });
  }
}

function newRun(): string {
  return randomBytes(6).toString('base64url');
}
