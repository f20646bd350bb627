import { isDeepStrictEqual } from 'node:util';
import type { McpHost } from '@signalbox/mcp-host';
import { type FileWatch, watchFiles } from '@signalbox/mcp-host/yaml-files';
import type { Orchestrator } from '@signalbox/orchestrator';
import { messageOf } from '@signalbox/protocol';
import { type Config, loadConfig } from '../config/index.ts';
import { checkStillDenies, configWarnings, fileDigest, reloadObstacle } from '../config/internal.ts';
import type { Log } from '../log.ts';
import type { RulesInForce } from '../policy/rules-in-force.ts';
import { coalesceRuns } from './coalesce-runs.ts';
import {
  changedKeys,
  changeLines,
  hangupNeeds,
  type NameChanges,
  nameChanges,
  policyChanges,
  restartNeeds,
  roleChanges,
} from './config-changes.ts';
import { ImportReadings } from './import-readings.ts';
import { appliedEvents, refusedEvent } from './reload-events.ts';

/** The longest reason for which a configuration was refused that is shown, in characters. */
const maxReasonLength = 1000;

/** The parts of a running orchestrator that take over a changed configuration. */
export interface ReloadTargets {
  host: McpHost;
  orchestrator: Pick<Orchestrator, 'recordConfig' | 'refuseConfig' | 'acceptConfig'>;
  rules: RulesInForce;
  /** Reads the capability files again. */
  reloadCapabilities: () => Promise<void>;
  /** Returns a configuration with warnings about what it exposes. Throws `exposed` if it must not be put in force. */
  admit: (config: Config) => Config;
  /** Logs which tokens have roles that a configuration does not list. */
  tellStranded: (config: Config) => Promise<void>;
  log: Log;
  /** True if who sends SIGHUP reaches the broker, too. An orchestrator by itself does not hear what a broker took over. */
  isSupervised: boolean;
}

/** Puts changes of the configuration files in force in a running orchestrator, until it is disposed. */
export class ConfigReload implements AsyncDisposable {
  readonly #targets: ReloadTargets;
  readonly #file: string;
  readonly #started: Config;
  /** The configuration that the broker has taken over, at its start or at a SIGHUP. */
  #takenOver: Config;
  readonly #applyFiles = coalesceRuns(() => this.#apply());
  #current: Config;
  /** True if somebody asked for a reload and waits for its outcome in the log. */
  #isAsked = false;
  #wasRefused = false;
  #loggedObstacle: string | undefined;
  #loggedRestart: readonly string[] = [];
  /** True if a change that was read is not in force yet, or a file has been gone for so long that its servers end. */
  #isPending = false;
  /** The files that were read last, as {@link Config.files} has them. */
  #read: Readonly<Record<string, string>>;
  readonly #imports = new ImportReadings(() => {
    this.#isPending = true;
    void this.#applyFiles();
  });
  #files: Set<string>;
  #watch: FileWatch | undefined;

  private constructor(started: Config, file: string, targets: ReloadTargets) {
    this.#targets = targets;
    this.#file = file;
    this.#started = started;
    this.#takenOver = started;
    this.#current = started;
    this.#read = started.files;
    this.#files = new Set(Object.keys(started.files));
  }

  /**
   * Watches a configuration file with all files that it names. A change is put in force as a whole, or refused with the
   * reason in the log. `started` is the configuration at the start; later changes are put in force at once. Files that another user
   * could have changed are read only when {@link reload} asks for it.
   */
  static async open(started: Config, file: string, targets: ReloadTargets): Promise<ConfigReload> {
    const reload = new ConfigReload(started, file, targets);
    const { log } = targets;
    reload.#watch = await watchFiles(reload.#files, {
      onChange: () => void reload.#applyFiles(),
      onError: (error) =>
        log({
          event: 'config_unwatched',
          level: 'warn',
          message: 'a configuration file cannot be watched; SIGHUP reads it again',
          error,
        }),
    });
    // A file may have changed before it was watched.
    await reload.#imports.refresh(started.imports);
    await reload.#applyFiles();
    return reload;
  }

  /** Reads everything again at once, and logs the outcome even if nothing changed. */
  async reload(): Promise<void> {
    this.#isAsked = true;
    await this.#applyFiles();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#imports[Symbol.dispose]();
    await this.#watch?.[Symbol.asyncDispose]();
  }

  async #apply(): Promise<void> {
    const { orchestrator, rules } = this.#targets;
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    await this.#imports.refresh();
    if (!isAsked && !this.#isPending && !this.#hasChanged()) return void this.#tellObstacle();
    const before = this.#current;
    this.#isPending = false;
    const next = await this.#load(isAsked);
    if (!isAsked && this.#tellObstacle()) {
      this.#isPending = true;
      if (!('error' in next)) this.#tellWaiting(next, changedKeys(before, next));
      return;
    }
    if ('error' in next) return await this.#refuse(next.error);
    await this.#recordChanges(before, next);
    try {
      const servers = await this.#applyServers(before, next);
      rules.apply(next);
      this.#current = next;
      if (isAsked) this.#takenOver = next;
      this.#tellWaiting(next);
      if (isAsked) await this.#targets.reloadCapabilities();
      this.#logApplied(before, next, servers, isAsked);
      const { roles, unlisted } = before;
      if (isAsked || !isDeepStrictEqual([roles, unlisted], [next.roles, next.unlisted]))
        await this.#targets.tellStranded(next);
    } catch (error) {
      rules.apply(before);
      await this.#refuse(error);
      await orchestrator.recordConfig('not put in force: everything stays as it was before the last change');
    }
  }

  /**
   * Returns true if a file no longer says what it said when it was read last. Of another client's file, only the parts about servers
   * count.
   */
  #hasChanged(): boolean {
    return Object.entries(this.#read).some(
      ([file, state]) => (this.#imports.stateOf(file) ?? fileDigest(file)) !== state,
    );
  }

  /** Records a change in the audit log before it is put in force, so that the log holds every rule that ever was in force. */
  async #recordChanges(before: Config, next: Config): Promise<void> {
    const servers = nameChanges(before.mcpServers, next.mcpServers);
    const roles = roleChanges(before, next);
    const lines = changeLines({ servers, roles, policy: policyChanges(before, next) });
    if (lines.length > 0) await this.#targets.orchestrator.recordConfig(`changed: ${lines.join('; ')}`);
  }

  /** Logs once why changes must wait until somebody asks for them. Returns true if they must. */
  #tellObstacle(): boolean {
    const obstacle = reloadObstacle(this.#current, this.#files);
    if (obstacle !== undefined && obstacle !== this.#loggedObstacle) {
      const message = `changes of ${this.#file} are put in force at SIGHUP or a restart only: ${obstacle}`;
      this.#targets.log({ event: 'config_not_reloaded', level: 'warn', message });
    }
    this.#loggedObstacle = obstacle;
    return obstacle !== undefined;
  }

  /** Shows operators which changes a restart would put in force. Of these, `keys` wait because others could have made them. */
  #tellWaiting(next: Config, keys: readonly string[] = []): void {
    const ofBroker = this.#targets.isSupervised ? hangupNeeds(this.#takenOver, next) : [];
    this.#targets.orchestrator.acceptConfig([...keys, ...restartNeeds(this.#started, next), ...ofBroker]);
  }

  async #refuse(error: unknown): Promise<void> {
    this.#wasRefused = true;
    this.#targets.log(refusedEvent(this.#file, error));
    await this.#targets.orchestrator.refuseConfig(messageOf(error).slice(0, maxReasonLength));
  }

  /** Logs the changes. If nothing changed, it says so only after a request or a refusal. */
  #logApplied(before: Config, next: Config, servers: NameChanges, isAsked: boolean): void {
    const restart = restartNeeds(this.#started, next);
    const known = this.#warningsOf(before);
    const changes = {
      servers,
      roles: roleChanges(before, next),
      policy: policyChanges(before, next),
      restart: isAsked || !isDeepStrictEqual(restart, this.#loggedRestart) ? restart : [],
      hangup: isAsked ? [] : hangupNeeds(before, next),
      warnings: this.#warningsOf(next).filter((warning) => !known.includes(warning)),
    };
    for (const event of appliedEvents(this.#file, changes, isAsked || this.#wasRefused)) {
      this.#targets.log(event);
    }
    this.#wasRefused = false;
    this.#loggedRestart = restart;
  }

  /** Lists what `config check` would warn of. */
  #warningsOf(config: Config): string[] {
    return [...config.warnings, ...configWarnings(config, this.#file)];
  }

  /** While servers and rules are being replaced, a role may use only what both the old and the new rules allow. */
  async #applyServers(before: Config, next: Config): Promise<NameChanges> {
    const changes = nameChanges(before.mcpServers, next.mcpServers);
    if (isDeepStrictEqual(before.mcpServers, next.mcpServers)) return changes;
    this.#targets.rules.narrowTo(next);
    // The servers are replaced, or refused, at once. Rights don't wait until the new ones have started.
    await Promise.race([this.#targets.host.apply(next.mcpServers), undefined]);
    return changes;
  }

  /**
   * Loads the files. If one of them is wrong, it stays watched, and so do all files that were watched before. If somebody asked for it, files
   * of other clients that are gone have no servers any more.
   */
  async #load(isAsked: boolean): Promise<Config | { error: unknown }> {
    const files = new Set<string>();
    const read: Record<string, string> = {};
    const lastImports = this.#current.imports.filter(
      ({ file }) => !this.#imports.isGone(file, isAsked ? 'now' : 'for a minute'),
    );
    try {
      const loaded = await loadConfig(this.#file, {
        onFile: (path) => {
          files.add(path);
          read[path] = '';
        },
        onRead: (path, state) => {
          read[path] = state;
        },
        readImport: (file, pointers) => this.#imports.get(file, pointers),
        inForce: { ...this.#current, imports: lastImports },
      });
      const next = this.#targets.admit(loaded);
      this.#targets.rules.check(next);
      checkStillDenies(this.#current, next);
      this.#files = files;
      this.#read = read;
      this.#imports.keepOnly(next.imports);
      return next;
    } catch (error) {
      this.#files = new Set([...this.#files, ...files]);
      this.#read = { ...this.#read, ...read };
      return { error };
    } finally {
      this.#watch?.setPaths(this.#files);
    }
  }
}
