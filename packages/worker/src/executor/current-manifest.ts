import type { BrokerClient, Log, ParsedMessage } from '@signalbox/client';
import {
  type MailboxAccess,
  type Manifest,
  messageOf,
  type OfferedKinds,
  type Tool,
  type UnreadHint,
} from '@signalbox/protocol';
import { type CurrentOffers, changedOffers, noOffers, offersOf } from './current-offers.ts';
import { requestManifest } from './manifest-request.ts';

type NotReady = NonNullable<Manifest['not_ready']>;

export interface CurrentManifestOptions {
  client: BrokerClient;
  /** Agent id of the orchestrator. */
  orchestrator: string;
  /** The longest wait for an answer in milliseconds, also while no orchestrator is connected. */
  timeoutMs: number;
  log: Log;
}

/** The tools that the role may see, as the orchestrator last listed them. It follows the orchestrator's list while connected. */
export class CurrentManifest {
  readonly #options: CurrentManifestOptions;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #offerListeners = new Set<(changed: OfferedKinds) => void>();
  readonly #detach: (() => void)[];
  #tools = new Map<string, Tool>();
  #version = '';
  #offers = noOffers;
  #hasUnlisted = false;
  #mailbox: MailboxAccess | undefined;
  #unreadHint: UnreadHint | undefined;
  #keepsResults = false;
  #notReady: NotReady = [];
  #refreshing: Promise<boolean> | undefined;
  #refreshNext: Promise<boolean> | undefined;
  /** True if the next request asks for a list with the changes that servers have announced. */
  #wantsFresh = false;

  constructor(options: CurrentManifestOptions) {
    this.#options = options;
    const { client } = options;
    this.#detach = [
      client.onMessage((message) => this.#onMessage(message)),
      client.onState((state) => {
        if (state.name === 'ready') this.#refreshInBackground();
      }),
    ];
  }

  /** The listed tools by name, in the orchestrator's order. */
  get tools(): ReadonlyMap<string, Tool> {
    return this.#tools;
  }

  /** The instructions, resources and prompts that the role may see. */
  get offers(): CurrentOffers {
    return this.#offers;
  }

  /** True if the role may call tools that are not listed. */
  get hasUnlisted(): boolean {
    return this.#hasUnlisted;
  }

  /** The mailbox tools that the role may see; `undefined` for all. */
  get mailbox(): MailboxAccess | undefined {
    return this.#mailbox;
  }

  /** The way in which the role is told of new mail; `undefined` if the configuration does not name one. */
  get unreadHint(): UnreadHint | undefined {
    return this.#unreadHint;
  }

  /** True if large results of the role's calls are kept, and answered by previews. */
  get keepsResults(): boolean {
    return this.#keepsResults;
  }

  /** The servers that had not listed their tools yet when the list was last requested. */
  get notReady(): NotReady {
    return this.#notReady;
  }

  /** The version of the list; empty before the first one. */
  get version(): string {
    return this.#version;
  }

  /**
   * See `McpProxyExecutor.refresh`. A call during a running request causes one more request after it, because that one may be answered
   * already.
   */
  refresh({ fresh = false } = {}): Promise<boolean> {
    this.#wantsFresh ||= fresh;
    if (!this.#refreshing) {
      this.#refreshing = this.#fetch().finally(() => {
        this.#refreshing = undefined;
      });
      return this.#refreshing;
    }
    this.#refreshNext ??= this.#refreshing
      .catch(() => false)
      .then(() => {
        this.#refreshNext = undefined;
        return this.refresh();
      });
    return this.#refreshNext;
  }

  /** Calls `listener` at each change of the prompts or resources; returns a function that removes it. */
  onOffersChanged(listener: (changed: OfferedKinds) => void): () => void {
    this.#offerListeners.add(listener);
    return () => this.#offerListeners.delete(listener);
  }

  /** Calls `listener` at each change of the tools or the mailbox; returns a function that removes it. */
  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stops following the list. */
  close(): void {
    for (const detach of this.#detach) detach();
    this.#stop.abort();
  }

  async #fetch(): Promise<boolean> {
    const { client, orchestrator, timeoutMs } = this.#options;
    const fresh = this.#wantsFresh;
    this.#wantsFresh = false;
    const manifest = await requestManifest(client, orchestrator, this.#version || undefined, {
      timeoutMs,
      signal: this.#stop.signal,
      fresh,
    });
    this.#notReady = manifest.not_ready ?? [];
    if (manifest.unchanged || !manifest.tools || manifest.version === this.#version) return false;
    const before = this.#toolPart;
    const offersBefore = this.#offers;
    this.#version = manifest.version;
    this.#offers = offersOf(manifest);
    this.#hasUnlisted = manifest.has_unlisted === true;
    this.#mailbox = manifest.mailbox;
    this.#unreadHint = manifest.unread_hint;
    this.#keepsResults = manifest.keeps_results === true;
    this.#tools = new Map(manifest.tools.map((tool) => [tool.name, tool]));
    if (this.#toolPart !== before) for (const listener of this.#listeners) listener();
    const changed = changedOffers(offersBefore, this.#offers);
    if (Object.keys(changed).length > 0) for (const listener of this.#offerListeners) listener(changed);
    return true;
  }

  /** The tools and the rules of the manifest, as a text to compare. */
  get #toolPart(): string {
    const tools = [...this.#tools.values()];
    const rules = [this.#hasUnlisted, this.#mailbox, this.#unreadHint, this.#keepsResults];
    return JSON.stringify([tools, ...rules]);
  }

  #refreshInBackground(): void {
    this.refresh().catch((thrown) => {
      if (this.#stop.signal.aborted) return;
      this.#options.log({ event: 'refresh_failed', reason: messageOf(thrown) });
    });
  }

  /** Accepts messages only from the orchestrator itself, by the identity that the broker attests. */
  #onMessage(message: ParsedMessage): void {
    if (message.kind !== 'event' || message.from.agent !== this.#options.orchestrator) return;
    if (message.from.role !== 'orchestrator') return;
    const event = message.json as { event?: unknown; version?: unknown } | null;
    if (event?.event === 'manifest_changed' && event.version !== this.#version) this.#refreshInBackground();
  }
}
