import type { BrokerClient } from '@signalbox/client';
import { readTexts, type TailEvent } from '@signalbox/client/operator';
import { isOfCall } from '@signalbox/client/operator/internal';
import { shownExcerpt } from '@signalbox/mcp-host/redaction';
import { messageOf, SignalboxError } from '@signalbox/protocol';

/** The beginning of what a message says. */
export interface TextEvent {
  what: 'text';
  at: number;
  seq: number;
  id: string;
  text: string;
}

/** The most messages that wait until their texts are read. Those beyond are shown without. */
const maxWaiting = 500;

/** Throws `usage` if the broker keeps no bodies. */
export async function checkKept(client: BrokerClient): Promise<void> {
  const { keeps } = await readTexts(client, []);
  if (keeps) return;
  throw new SignalboxError(
    'usage',
    'the broker keeps no bodies of messages, so that --bodies has nothing to show',
    {
      details: {
        hint: 'to keep them for a day: broker: { keepBodies: true } in signalbox.yaml, then signalbox down and up',
      },
    },
  );
}

/** Reads the texts of messages that were stored, one question at a time about all that wait. */
export class TextFeed {
  readonly #client: BrokerClient;
  readonly #onText: (event: TextEvent) => void;
  readonly #onFailure: (reason: string) => void;
  #waiting: { seq: number; id: string; at: number }[] = [];
  #isAsking = false;

  constructor(
    client: BrokerClient,
    { onText, onFailure }: { onText: (event: TextEvent) => void; onFailure: (reason: string) => void },
  ) {
    this.#client = client;
    this.#onText = onText;
    this.#onFailure = onFailure;
  }

  /** Asks for the text of a message that was stored. Other events have none. */
  observe(event: TailEvent): void {
    if (event.what !== 'stored' || isOfCall(event.message.kind)) return;
    const { seq, id } = event.message;
    if (seq === undefined || this.#waiting.length >= maxWaiting) return;
    this.#waiting.push({ seq, id, at: event.at });
    if (!this.#isAsking) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      while (this.#waiting.length > 0) {
        const asked = this.#waiting;
        this.#waiting = [];
        const { texts } = await readTexts(
          this.#client,
          asked.map(({ seq }) => seq),
        );
        for (const one of asked) {
          const text = texts.get(one.seq);
          if (text !== undefined) this.#onText({ what: 'text', ...one, text: shownExcerpt(text) });
        }
      }
    } catch (error) {
      this.#onFailure(messageOf(error));
    } finally {
      this.#isAsking = false;
    }
  }
}
