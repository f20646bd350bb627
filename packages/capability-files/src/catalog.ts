import { createGuardedFetch } from '@signalbox/guarded-fetch';
import type { CallOptions, HostEvent, ToolCallResult, ToolProblem, ToolProvider } from '@signalbox/mcp-host';
import { messageOf, type Tool, toolCallError } from '@signalbox/protocol';
import { callCapability } from './capability-call.ts';
import { type LoadedFile, listCapabilityFiles, loadCapabilityFile } from './capability-files.ts';
import { buildSnapshot, emptySnapshot } from './catalog-snapshot.ts';
import { watchCapabilityFiles } from './file-watch.ts';
import type { CapabilityFetch } from './provider-call.ts';

export interface CapabilityOptions {
  /** Capability files, and folders of them (`*.yaml`, `*.yml`, `*.json`). The first of two tools with one name stays. */
  paths: readonly string[];
  /** What `env:…` of a file may read; `process.env` unless given. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Hosts that may be private, as `host` or `host:port` with `*`. */
  allowHosts?: readonly string[];
  /** Monotonic milliseconds. */
  now?: () => number;
  log?: (event: HostEvent) => void;
  /** In place of a guarded fetch of our own; it then answers for the rules of the network. */
  fetch?: CapabilityFetch;
  /** Reload by itself when a file changes. */
  watch?: boolean;
  /** How long files must have been quiet before that; 500 unless set. */
  debounceMs?: number;
}

/** The tools of capability files. Closing it breaks off the calls under way. */
export interface CapabilityCatalog extends ToolProvider, AsyncDisposable {
  /** Reads every file again. Calls under way end on the definition they began with. Resolves when the new tools are there. */
  reload(): Promise<void>;
}

/**
 * Reads capability files. What is wrong in them is in `problems()`, never thrown. Throws `SignalboxError` `bad_config` for a
 * bad entry of `allowHosts`.
 */
export async function openCapabilities(options: CapabilityOptions): Promise<CapabilityCatalog> {
  const catalog = new FileCatalog(options);
  try {
    await catalog.open();
    return catalog;
  } catch (error) {
    await catalog[Symbol.asyncDispose]();
    throw error;
  }
}

class FileCatalog implements CapabilityCatalog {
  readonly name = 'capabilities';
  readonly #options: CapabilityOptions;
  readonly #log: (event: HostEvent) => void;
  readonly #now: () => number;
  readonly #fetch: CapabilityFetch;
  readonly #resources = new AsyncDisposableStack();
  readonly #listeners = new Set<() => void>();
  #files = new Map<string, LoadedFile>();
  #snapshot = emptySnapshot;
  #loading: Promise<void> = Promise.resolve();
  #requests = 0;
  #closed = false;

  constructor(options: CapabilityOptions) {
    this.#options = options;
    this.#log = options.log ?? (() => {});
    this.#now = options.now ?? (() => performance.now());
    const { allowHosts = [] } = options;
    this.#fetch = options.fetch ?? this.#resources.use(createGuardedFetch({ allowHosts }));
  }

  async open(): Promise<void> {
    const { watch = false, debounceMs = 500, paths } = this.#options;
    // Watched before they are read: a change in between is not lost.
    if (watch) {
      const onError = (message: string) => this.#log({ event: 'capability_watch_failed', message });
      this.#resources.use(
        await watchCapabilityFiles(paths, { debounceMs, onChange: () => void this.reload(), onError }),
      );
    }
    await this.reload();
  }

  tools(): readonly Tool[] {
    return this.#snapshot.tools;
  }

  problems(): readonly ToolProblem[] {
    return this.#snapshot.problems;
  }

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<ToolCallResult> {
    const capability = this.#snapshot.byName.get(name);
    if (!capability) {
      // Near names are for whoever knows what the caller may use.
      const message = `no tool is named '${name.slice(0, 128)}'`;
      return { error: toolCallError('tool_not_found', message, { mayHaveRun: false }) };
    }
    return callCapability(capability, args, options, {
      fetch: this.#fetch,
      now: this.#now,
      nextId: () => String(++this.#requests),
      log: this.#log,
    });
  }

  reload(): Promise<void> {
    const load = () => this.#load();
    this.#loading = this.#loading.then(load, load);
    return this.#loading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    await this.#resources.disposeAsync();
    await this.#loading;
  }

  async #load(): Promise<void> {
    if (this.#closed) return;
    const { paths, env = process.env } = this.#options;
    const sources = { env, now: this.#now };
    const { files, problems } = await listCapabilityFiles(paths);
    const loaded = await Promise.all(
      files.map(
        async (path) => [path, await loadCapabilityFile(path, this.#files.get(path), sources)] as const,
      ),
    );
    this.#files = new Map(loaded);
    const before = this.#snapshot;
    this.#snapshot = buildSnapshot(this.#files.values(), problems, before);
    const { tools, problems: found } = this.#snapshot;
    if (tools === before.tools && found === before.problems) return;
    this.#log({ event: 'capabilities_loaded', tools: tools.length, problems: found.length });
    for (const listener of [...this.#listeners]) this.#tell(listener);
  }

  #tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#log({ event: 'listener_failed', message: messageOf(error) });
    }
  }
}
