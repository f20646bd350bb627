import type { Client, McpSubscription } from '@modelcontextprotocol/client';
import { untouched } from './sdk-client.ts';

/** The time that a server has to confirm a subscription, in milliseconds. */
const answerMs = 10_000;

/** The subscriptions of one session. It changes the server's subscriptions until they are the ones that were requested last. */
export class FollowedResources {
  readonly #client: Client;
  #wanted: ReadonlySet<string> = new Set();
  #told = new Set<string>();
  #stream: McpSubscription | undefined;
  #settling: Promise<void> | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Asks the server to report these resources and no others. Never rejects. */
  follow(uris: ReadonlySet<string>): Promise<void> {
    this.#wanted = new Set(uris);
    if (!this.#client.getServerCapabilities()?.resources?.subscribe) return Promise.resolve();
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = undefined;
    });
    return this.#settling;
  }

  /** Runs until the server was asked for the resources that are wanted now; a refused request is not repeated. */
  async #settle(): Promise<void> {
    const isModern = this.#client.getProtocolEra() === 'modern';
    for (let wanted: ReadonlySet<string> | undefined; wanted !== this.#wanted; ) {
      wanted = this.#wanted;
      await (isModern ? this.#listen(wanted) : this.#subscribe(wanted)).catch(() => {});
    }
  }

  /** Replaces the stream of a server of the 2026 revision; the new one is open before the old one is closed. */
  async #listen(uris: ReadonlySet<string>): Promise<void> {
    const before = this.#stream;
    this.#stream = undefined;
    try {
      if (uris.size > 0)
        this.#stream = await this.#client.listen({ resourceSubscriptions: [...uris] }, { timeout: answerMs });
    } finally {
      await before?.close();
    }
  }

  async #subscribe(uris: ReadonlySet<string>): Promise<void> {
    const ask = (method: string, uri: string) =>
      this.#client.request({ method, params: { uri } }, untouched, { timeout: answerMs }).catch(() => {});
    const added = [...uris].filter((uri) => !this.#told.has(uri));
    const removed = [...this.#told].filter((uri) => !uris.has(uri));
    this.#told = new Set(uris);
    await Promise.all([
      ...added.map((uri) => ask('resources/subscribe', uri)),
      ...removed.map((uri) => ask('resources/unsubscribe', uri)),
    ]);
  }
}
