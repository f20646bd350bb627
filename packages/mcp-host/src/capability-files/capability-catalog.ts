import { messageOf, type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { CheckedArguments } from '@signalbox/serving';
import { createGuardedFetch } from '../guarded-fetch/index.ts';
import type {
  CallOptions,
  NamedSecret,
  ToolCallResult,
  ToolProblem,
  ToolProvider,
} from '../tool-calls/index.ts';
import { watchFiles } from '../yaml-files/index.ts';
import { type CapabilityEvent, callCapability, checkCapabilityArguments } from './calls/call-capability.ts';
import type { CapabilityFetch } from './calls/call-provider.ts';
import type { Capability } from './document/compile-capability.ts';
import {
  isCapabilityFile,
  type LoadedFile,
  listCapabilityFiles,
  loadCapabilityFile,
  type PlacedCapability,
} from './files/load-file.ts';
import { sentForms } from './secrets/credential.ts';
import { readSecret, type SecretSources } from './secrets/secret.ts';

/** The options of {@link openCapabilities}. */
export interface CapabilityOptions {
  /**
   * The paths of capability files, and of folders that hold them (`*.yaml`, `*.yml`, `*.json`). Of two tools with the same name the first
   * one is kept.
   */
  paths: readonly string[];
  /** The variables that `env:…` in a file may read; `process.env` unless given. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Hosts that may be private, as `host` or `host:port` with `*`. */
  allowHosts?: readonly string[];
  /** Monotonic milliseconds. */
  now?: () => number;
  log?: (event: CapabilityEvent) => void;
  /** Replaces the guarded fetch. The network rules are then the caller's task. */
  fetch?: CapabilityFetch;
  /** True: files are read again when they change. */
  watch?: boolean;
  /** Called whenever watched files have changed: they are read again only if it returns true. By default they always are. */
  mayReload?: () => boolean;
  /** The time for which files must be unchanged before they are read again, in milliseconds; 500 unless given. */
  debounceMs?: number;
}

/** The tools of capability files. Disposing it aborts the running calls. */
export interface CapabilityCatalog extends Required<ToolProvider>, AsyncDisposable {
  /** Reads every file again. Resolves when the new tools are shown. Running calls keep the definition with which they began. */
  reload(): Promise<void>;
}

/**
 * Reads capability files. Problems in them are in `problems()`, and never thrown. Rejects with `SignalboxError` `bad_config`
 * for a bad entry of `allowHosts`.
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
  readonly #log: (event: CapabilityEvent) => void;
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
    const { watch = false, mayReload = () => true, debounceMs = 500, paths } = this.#options;
    // Watching begins before reading, so that no change in between is lost.
    if (watch) {
      const watching = await watchFiles(paths, {
        debounceMs,
        isWanted: isCapabilityFile,
        onChange: () => {
          if (mayReload()) void this.reload();
        },
        onError: (error) => this.#log({ event: 'capability_watch_failed', message: messageOf(error) }),
      });
      this.#resources.use(watching);
    }
    await this.reload();
  }

  tools(): readonly Tool[] {
    return this.#snapshot.tools;
  }

  problems(): readonly ToolProblem[] {
    return this.#snapshot.problems;
  }

  secrets(): readonly NamedSecret[] {
    return [...this.#snapshot.byName.values()].flatMap(({ providers, secrets, tool }) =>
      providers.flatMap(({ auth }) => {
        const forms = auth ? sentForms(auth, secretOrNothing(auth.key, secrets)) : [];
        return forms.map((value) => ({ value, source: `auth.key of the capability ${tool.name}` }));
      }),
    );
  }

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  check(name: string, args: Record<string, unknown>): CheckedArguments {
    const capability = this.#snapshot.byName.get(name);
    return capability ? checkCapabilityArguments(capability, args) : { error: notFound(name) };
  }

  async call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<ToolCallResult> {
    const capability = this.#snapshot.byName.get(name);
    if (!capability) return { error: notFound(name) };
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
    const deps = { env, now: this.#now };
    const { files, problems } = await listCapabilityFiles(paths);
    const loaded = await Promise.all(
      files.map(async (path) => [path, await loadCapabilityFile(path, this.#files.get(path), deps)] as const),
    );
    this.#files = new Map(loaded);
    const before = this.#snapshot;
    this.#snapshot = buildSnapshot(this.#files.values(), problems, before);
    const { tools, problems: found } = this.#snapshot;
    if (tools === before.tools && found === before.problems) return;
    this.#log({ event: 'capabilities_loaded', tools: tools.length, problems: found.length });
    for (const listener of [...this.#listeners]) this.#notify(listener);
  }

  #notify(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#log({ event: 'listener_failed', message: messageOf(error) });
    }
  }
}

/** Reads a secret. A call of its tool reports why it can't be read. */
function secretOrNothing(reference: string, sources: SecretSources): string {
  try {
    return readSecret(reference, sources);
  } catch {
    return '';
  }
}

/** Similar names are suggested by the code that knows which tools the caller may use. */
function notFound(name: string): ToolCallError {
  return toolCallError('tool_not_found', `no tool is named '${name.slice(0, 128)}'`, { mayHaveRun: false });
}

/** All tools at one moment. A snapshot is never changed, only replaced. */
interface CatalogSnapshot {
  byName: ReadonlyMap<string, Capability>;
  tools: readonly Tool[];
  problems: readonly ToolProblem[];
}

/** The snapshot before any file was read. */
const emptySnapshot: CatalogSnapshot = { byName: new Map(), tools: [], problems: [] };

/** Builds a snapshot. Of tools with the same name the first one is kept. Unchanged lists stay the same arrays. */
function buildSnapshot(
  files: Iterable<LoadedFile>,
  problems: readonly ToolProblem[],
  before: CatalogSnapshot,
): CatalogSnapshot {
  const kept = new Map<string, PlacedCapability>();
  const found: ToolProblem[] = [...problems];
  for (const file of files) {
    found.push(...file.problems);
    for (const placed of file.tools) {
      const { name } = placed.capability.tool;
      const first = kept.get(name);
      if (!first) kept.set(name, placed);
      else {
        found.push({
          tool: name,
          message: `${placed.place}: name: '${name}' is defined at ${first.place} already, and that one stays`,
        });
      }
    }
  }
  const byName = new Map([...kept].map(([name, { capability }]) => [name, capability]));
  return {
    byName,
    tools: sameIfEqual(
      before.tools,
      [...byName.values()].map(({ tool }) => tool),
    ),
    problems: sameIfEqual(before.problems, found),
  };
}

function sameIfEqual<T>(before: readonly T[], after: readonly T[]): readonly T[] {
  return JSON.stringify(before) === JSON.stringify(after) ? before : after;
}
