import type { Log, ParsedMessage } from '@signalbox/client';
import {
  isJsonObject,
  messageOf,
  subscriptionsReplySchema,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import { type Asker, askOrchestrator, unreadableAnswer } from './orchestrator-question.ts';

const timeoutMs = 10_000;

/** The dependencies of {@link FollowedResources}. */
export interface FollowedResourcesDeps {
  asker: Asker;
  /** Aborted when the executor ends. */
  stop: AbortSignal;
  log: Log;
}

/** The resources whose changes this executor's address is told, for all who want to hear of some. */
export class FollowedResources {
  readonly #deps: FollowedResourcesDeps;
  /** The URIs of each holder. */
  readonly #wanted = new Map<unknown, ReadonlySet<string>>();
  readonly #listeners = new Set<(uri: string) => void>();
  #sending: Promise<Map<string, ToolCallError>> | undefined;
  #sendNext: Promise<Map<string, ToolCallError>> | undefined;

  constructor(deps: FollowedResourcesDeps) {
    this.#deps = deps;
  }

  /** Replaces what a holder wants to hear of. Returns the URIs that it may not follow, each with the reason. */
  async follow(holder: unknown, uris: ReadonlySet<string>): Promise<Map<string, ToolCallError>> {
    if (uris.size === 0 && !this.#wanted.has(holder)) return new Map();
    if (uris.size === 0) this.#wanted.delete(holder);
    else this.#wanted.set(holder, uris);
    const refused = await this.#send();
    return new Map([...refused].filter(([uri]) => uris.has(uri)));
  }

  /** Says again what is wanted, if anything is: the orchestrator may be another one. */
  repeat(): void {
    if (this.#wanted.size === 0) return;
    this.#send().catch((thrown) => {
      this.#deps.log({ event: 'subscriptions_not_sent', reason: messageOf(thrown) });
    });
  }

  /** Calls `listener` with each resource that has changed; returns a function that removes it. */
  onUpdated(listener: (uri: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Passes on an event of the orchestrator, if it is one of a resource. */
  receive({ json }: ParsedMessage): void {
    if (!isJsonObject(json) || json.event !== 'resource_updated' || typeof json.uri !== 'string') return;
    for (const listener of [...this.#listeners]) listener(json.uri);
  }

  /** One request at a time; a change during a request is told by one more. */
  #send(): Promise<Map<string, ToolCallError>> {
    if (!this.#sending) {
      this.#sending = this.#sendOnce().finally(() => {
        this.#sending = undefined;
      });
      return this.#sending;
    }
    this.#sendNext ??= this.#sending.then(() => {
      this.#sendNext = undefined;
      return this.#send();
    });
    return this.#sendNext;
  }

  async #sendOnce(): Promise<Map<string, ToolCallError>> {
    const uris = [...new Set([...this.#wanted.values()].flatMap((wanted) => [...wanted]))];
    const { asker, stop } = this.#deps;
    const refuseAll = (error: ToolCallError) => new Map(uris.map((uri) => [uri, error]));
    const { result, error } = await askOrchestrator(
      asker,
      { op: 'subscriptions', uris },
      { timeoutMs, signal: stop },
    );
    if (error) return refuseAll(error);
    const read = subscriptionsReplySchema.safeParse(result);
    if (!read.success) return refuseAll(unreadableAnswer('not a list of subscriptions'));
    const told = new Map(read.data.refused.map(({ uri, error: why }) => [uri, why]));
    const unknown = toolCallError('internal', 'the orchestrator did not say whether it may be followed', {
      mayHaveRun: false,
    });
    const followed = new Set(read.data.subscribed);
    for (const uri of uris) if (!followed.has(uri) && !told.has(uri)) told.set(uri, unknown);
    return told;
  }
}
