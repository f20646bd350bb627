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
/** The pause before a list that could not be sent is sent once more, in milliseconds. */
const pauseMs = 2_000;

/** The dependencies of {@link FollowedResources}. */
export interface FollowedResourcesDeps {
  asker: Asker;
  /** Aborted when the executor ends. */
  stop: AbortSignal;
  log: Log;
}

/** The resources that this executor's address follows, for all its holders together. */
export class FollowedResources {
  readonly #deps: FollowedResourcesDeps;
  /** The URIs of each holder. */
  readonly #wanted = new Map<unknown, ReadonlySet<string>>();
  readonly #listeners = new Set<(uri: string) => void>();
  #sending: Promise<Map<string, ToolCallError>> | undefined;
  #sendNext: Promise<Map<string, ToolCallError>> | undefined;
  /** Interrupts the present question, so that it is asked again. */
  #renewal = new AbortController();
  /** True while the list of resources has to be sent again until the orchestrator has answered. */
  #isDue = false;

  constructor(deps: FollowedResourcesDeps) {
    this.#deps = deps;
  }

  /** Replaces the resources that a holder follows. Returns the URIs that it may not follow, each with the reason. */
  async follow(holder: unknown, uris: ReadonlySet<string>): Promise<Map<string, ToolCallError>> {
    if (uris.size === 0 && !this.#wanted.has(holder)) return new Map();
    if (uris.size === 0) this.#wanted.delete(holder);
    else this.#wanted.set(holder, uris);
    const refused = await this.#send();
    return new Map([...refused].filter(([uri]) => uris.has(uri)));
  }

  /**
   * Sends the list again, unless it is empty: the orchestrator may be another one. A question that waits for its answer is asked again,
   * because the earlier orchestrator may have lost it.
   */
  repeat(): void {
    if (this.#wanted.size === 0) return;
    this.#isDue = true;
    if (this.#sending) {
      this.#renewal.abort();
      return;
    }
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

  /** Sends one request at a time; a change during a request causes one more. */
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
    const { stop } = this.#deps;
    for (;;) {
      const uris = [...new Set([...this.#wanted.values()].flatMap((wanted) => [...wanted]))];
      this.#renewal = new AbortController();
      const { signal: renewed } = this.#renewal;
      const { result, error } = await askOrchestrator(
        this.#deps.asker,
        { op: 'subscriptions', uris },
        { timeoutMs, signal: AbortSignal.any([stop, renewed]) },
      );
      if (renewed.aborted && !stop.aborted) continue;
      if (!error) {
        this.#isDue = false;
        return refusalsOf(result, uris);
      }
      if (this.#isDue && !stop.aborted) setTimeout(() => this.repeat(), pauseMs).unref();
      return refuseAll(uris, error);
    }
  }
}

/** Reads the answer to a list of followed resources: the URIs that the address may not follow. */
function refusalsOf(answer: unknown, uris: readonly string[]): Map<string, ToolCallError> {
  const read = subscriptionsReplySchema.safeParse(answer);
  if (!read.success) return refuseAll(uris, unreadableAnswer('not a list of subscriptions'));
  const told = new Map(read.data.refused.map(({ uri, error }) => [uri, error]));
  const unknown = toolCallError('internal', 'the orchestrator did not say whether it may be followed', {
    mayHaveRun: false,
  });
  const followed = new Set(read.data.subscribed);
  for (const uri of uris) if (!followed.has(uri) && !told.has(uri)) told.set(uri, unknown);
  return told;
}

function refuseAll(uris: readonly string[], error: ToolCallError): Map<string, ToolCallError> {
  return new Map(uris.map((uri) => [uri, error]));
}
