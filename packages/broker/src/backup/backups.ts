import type { BackupManifest } from '@signalbox/protocol';
import type { Consumer } from '../core/consumer.ts';
import type { Log } from '../log.ts';
import { BackupError, takeBackupDirectory } from './backup-directory.ts';
import { type BackupJournal, type BackupProgress, RunningBackup } from './running-backup.ts';

/** The dependencies of {@link Backups}. */
export interface BackupsDeps {
  dataDir: string;
  brokerId: string;
  /** The reason why no backups are made; absent if they are. */
  noBackup?: string | undefined;
  /** Writes to the databases the data that is kept in memory for a moment. */
  flush: () => Promise<void>;
  newId: () => string;
  now: () => number;
  log: Log;
}

/**
 * Makes one backup at a time, for one connection. A backup is given up and its files are removed when it fails, when its connection ends,
 * and when the broker stops. Methods reject with a `BackupError`.
 */
export class Backups implements AsyncDisposable {
  readonly #deps: BackupsDeps;
  #owner: Consumer | undefined;
  #running: RunningBackup | undefined;
  #givingUp: Promise<void> = Promise.resolve();

  constructor(deps: BackupsDeps) {
    this.#deps = deps;
  }

  /** Begins to copy the broker's files into a directory. */
  async begin(directory: string, owner: Consumer): Promise<{ id: string; directory: string }> {
    const { noBackup } = this.#deps;
    if (noBackup !== undefined) throw new BackupError(noBackup);
    if (this.#owner) throw new BackupError('another backup is being made; try again when it is done');
    this.#owner = owner;
    const { dataDir, brokerId, newId, now, flush, log } = this.#deps;
    try {
      const facts = { id: newId(), brokerId, dataDir, beganAt: now() };
      const taken = await takeBackupDirectory(directory, facts);
      await flush();
      if (this.#owner !== owner) {
        await taken.remove();
        throw new BackupError('the connection that asked for the backup has ended');
      }
      this.#running = new RunningBackup(taken, facts);
      log({ level: 'info', event: 'backup_began', directory: taken.path });
      return { id: facts.id, directory: taken.path };
    } catch (thrown) {
      if (this.#owner === owner) this.#owner = undefined;
      throw thrown;
    }
  }

  /** Reports the progress of a connection's backup; see {@link RunningBackup.wait}. */
  async wait(owner: Consumer): Promise<BackupProgress> {
    const running = this.#of(owner);
    try {
      return await running.wait();
    } catch (error) {
      this.#ended(running);
      throw error;
    }
  }

  /** Finishes the backup of a connection; see {@link RunningBackup.finish}. */
  async finish(owner: Consumer, journal: BackupJournal | undefined): Promise<BackupManifest> {
    const running = this.#of(owner);
    try {
      const manifest = await running.finish(journal, this.#deps.now);
      this.#deps.log({ level: 'info', event: 'backup_finished', directory: running.directory.path });
      return manifest;
    } finally {
      this.#ended(running);
    }
  }

  /** Gives up the backup of a connection that has ended, if it has one. */
  abandon(owner: Consumer): void {
    if (this.#owner !== owner) return;
    this.#owner = undefined;
    const running = this.#running;
    if (!running) return;
    this.#running = undefined;
    const { log } = this.#deps;
    log({ level: 'warn', event: 'backup_given_up', directory: running.directory.path });
    this.#givingUp = running.giveUp('the connection that asked for it has ended').catch((error) => {
      log({ level: 'error', event: 'backup_not_removed', directory: running.directory.path, error });
    });
  }

  /** Gives up the running backup, if there is one. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#owner) this.abandon(this.#owner);
    await this.#givingUp;
  }

  #of(owner: Consumer): RunningBackup {
    if (this.#owner === owner && this.#running) return this.#running;
    throw new BackupError(
      'this connection has begun no backup, or it was given up when the connection was lost; begin it again',
    );
  }

  #ended(running: RunningBackup): void {
    if (this.#running !== running) return;
    this.#running = undefined;
    this.#owner = undefined;
  }
}
