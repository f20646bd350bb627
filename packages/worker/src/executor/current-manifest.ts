import type { BrokerClient, Log, ParsedMessage } from '@signalbox/client';
import {
  type MailboxAccess,
  type McpContentKinds,
  messageOf,
  type Tool,
  type UnreadHint,
} from '@signalbox/protocol';
import type { CurrentMcpContent } from './current-mcp-content.ts';
import { requestManifest } from './manifest-request.ts';
import {
  changedMcpContent,
  noManifest,
  type ReadManifest,
  readManifest,
  type SharedManifests,
} from './shared-manifests.ts';

export interface CurrentManifestOptions {
  client: BrokerClient;
  /** Agent id of the orchestrator. */
  orchestrator: string;
  /** The longest wait for an answer in milliseconds, also while no orchestrator is connected. */
  timeoutMs: number;
  /** The lists that the executors of this process share. */
  lists: SharedManifests;
  log: Log;
}

/** The tools that the role may see, as the orchestrator last listed them. It follows the orchestrator's list while connected. */
export class CurrentManifest {
  readonly #options: CurrentManifestOptions;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #mcpContentListeners = new Set<(changed: McpContentKinds) => void>();
  readonly #detach: (() => void)[];
  #shown = noManifest;
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
    return this.#shown.tools;
  }

  /** The instructions, resources and prompts that the role may see. */
  get mcpContent(): CurrentMcpContent {
    return this.#shown.mcpContent;
  }

  /** True if the role may call tools that are not listed. */
  get hasUnlisted(): boolean {
    return this.#shown.hasUnlisted;
  }

  /** The mailbox tools that the role may see; `undefined` for all. */
  get mailbox(): MailboxAccess | undefined {
    return this.#shown.mailbox;
  }

  /** The way in which the role is told of new mail; `undefined` if the configuration does not name one. */
  get unreadHint(): UnreadHint | undefined {
    return this.#shown.unreadHint;
  }

  /** True if large results of the role's calls are kept, and answered by previews. */
  get keepsResults(): boolean {
    return this.#shown.keepsResults;
  }

  /** The version of the list; empty before the first one. */
  get version(): string {
    return this.#shown.version;
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
  onMcpContentChanged(listener: (changed: McpContentKinds) => void): () => void {
    this.#mcpContentListeners.add(listener);
    return () => this.#mcpContentListeners.delete(listener);
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
    const { client, lists } = this.#options;
    const fresh = this.#wantsFresh;
    this.#wantsFresh = false;
    const { role } = client;
    const read = () => this.#read(lists.newest(role) ?? this.#shown, fresh);
    const manifest = await lists.read(role, { known: this.version, fresh }, read);
    const before = this.#shown;
    if (manifest.version === before.version) return false;
    this.#shown = manifest;
    if (manifest.digests.tools !== before.digests.tools) for (const listener of this.#listeners) listener();
    const changed = changedMcpContent(before, manifest);
    if (Object.keys(changed).length > 0) for (const listener of this.#mcpContentListeners) listener(changed);
    return true;
  }

  /** Asks for the list of the agent's role. If that is the `known` one, only its version is sent. */
  async #read(known: ReadManifest, fresh: boolean): Promise<ReadManifest> {
    const { client, orchestrator, timeoutMs } = this.#options;
    const manifest = await requestManifest(client, orchestrator, known.version || undefined, {
      timeoutMs,
      signal: this.#stop.signal,
      fresh,
    });
    if (manifest.version === known.version) return known;
    return manifest.unchanged || !manifest.tools ? this.#shown : readManifest(manifest);
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
    if (event?.event === 'manifest_changed' && event.version !== this.version) this.#refreshInBackground();
  }
}
