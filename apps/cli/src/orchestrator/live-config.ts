import { isDeepStrictEqual } from 'node:util';
import type { Inventory, McpHost } from '@signalbox/mcp-host';
import type { Orchestrator } from '@signalbox/orchestrator';
import { SignalboxError } from '@signalbox/protocol';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import { type NameChanges, policyChanges, restartNeeds, roleChanges } from './config-changes.ts';
import { type FileWatch, watchFiles } from './config-watch.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { commonAllowlist, policyOf } from './policy.ts';
import { reportApplied, reportRefused } from './reload-report.ts';
import type { RenamedTool } from './repeat-lists.ts';

/** What a changed configuration is given to. */
export interface LiveParts {
  host: McpHost;
  orchestrator: Orchestrator;
  /** Reads the capability files again. */
  reloadCapabilities: () => Promise<void>;
  log: Logger;
}

/** Keeps a running orchestrator at what its configuration files say, until it is disposed. */
export class LiveConfig implements AsyncDisposable {
  readonly #parts: LiveParts;
  readonly #file: string;
  readonly #started: Config;
  readonly #applyOnce = oneAtATime(() => this.#apply());
  #current: Config;
  #renamed: readonly RenamedTool[] = [];
  #asked = false;
  #refused = false;
  #restartSaid: readonly string[] = [];
  #files = new Set<string>();
  #watch: FileWatch | undefined;
  #stopListening = (): void => {};

  private constructor(started: Config, file: string, parts: LiveParts) {
    this.#parts = parts;
    this.#file = file;
    this.#started = started;
    this.#current = started;
  }

  /**
   * Watches the configuration with all files it names, and puts what changes in force: all of it, or nothing and a word
   * on why. `started` is what the process was started with, from `file`; changes since then are taken over at once.
   */
  static async open(started: Config, file: string, parts: LiveParts): Promise<LiveConfig> {
    const live = new LiveConfig(started, file, parts);
    const { host, log } = parts;
    live.#stopListening = host.onInventoryChanged((inventory) => live.#repeatAs(inventory));
    live.#repeatAs(await host.inventory());
    live.#load();
    live.#watch = await watchFiles(live.#files, () => void live.#applyOnce(), {
      onError: (err) => log.warn({ err }, 'a configuration file cannot be watched; SIGHUP reads it again'),
    });
    await live.#applyOnce();
    return live;
  }

  /** Reads everything again at once, and says so even if nothing changed. */
  async reload(): Promise<void> {
    this.#asked = true;
    await this.#applyOnce();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    await this.#watch?.[Symbol.asyncDispose]();
  }

  async #apply(): Promise<void> {
    const { orchestrator } = this.#parts;
    const asked = this.#asked;
    this.#asked = false;
    const before = this.#current;
    const next = this.#load();
    if ('error' in next) return this.#refuse(next.error);
    try {
      const servers = await this.#applyServers(before, next);
      orchestrator.setPolicy(policyOf(next, this.#renamed));
      this.#current = next;
      if (asked) await this.#parts.reloadCapabilities();
      this.#say(before, next, servers, asked);
    } catch (error) {
      orchestrator.setPolicy(policyOf(before, this.#renamed));
      this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    this.#refused = true;
    reportRefused(this.#parts.log, this.#file, error);
  }

  /** Somebody waits for a word after SIGHUP, and after a refusal; else nothing is said of nothing. */
  #say(before: Config, next: Config, servers: NameChanges, asked: boolean): void {
    const restart = restartNeeds(this.#started, next);
    const changes = {
      servers,
      roles: roleChanges(before, next),
      policy: policyChanges(before, next),
      restart: asked || !isDeepStrictEqual(restart, this.#restartSaid) ? restart : [],
      warnings: next.warnings.filter((warning) => !before.warnings.includes(warning)),
    };
    reportApplied(this.#parts.log, this.#file, changes, asked || this.#refused);
    this.#refused = false;
    this.#restartSaid = restart;
  }

  /** Until servers and rules are both the new ones, a role may do what the old and the new rules both allow. */
  async #applyServers(before: Config, next: Config): Promise<NameChanges> {
    if (isDeepStrictEqual(before.mcpServers, next.mcpServers)) return { added: [], removed: [], changed: [] };
    this.#parts.orchestrator.setPolicy({ allowlist: commonAllowlist(before, next) });
    return await this.#parts.host.apply(next.mcpServers);
  }

  /** What the files say now. A wrong file stays watched, with all that were before. */
  #load(): Config | { error: unknown } {
    const read = new Set<string>();
    try {
      const next = loadConfig(this.#file, { onFile: (path) => read.add(path) });
      policyOf(next, this.#renamed);
      checkStillDenies(this.#current, next);
      this.#files = read;
      return next;
    } catch (error) {
      this.#files = new Set([...this.#files, ...read]);
      return { error };
    } finally {
      this.#watch?.setFiles(this.#files);
    }
  }

  #repeatAs({ renamed, unprefixed }: Inventory): void {
    this.#renamed = [...renamed, ...unprefixed];
    this.#parts.orchestrator.setPolicy({ repeat: policyOf(this.#current, this.#renamed).repeat });
  }
}

/** Half a file, or none, must not open every server to everybody. */
function checkStillDenies(before: Config, next: Config): void {
  if (before.unlisted === 'allow' || next.unlisted === 'deny' || !next.unlistedByDefault) return;
  throw new SignalboxError(
    'bad_config',
    "no roles are left, which would let every role use every tool; write 'unlisted: allow' if that is meant",
  );
}
