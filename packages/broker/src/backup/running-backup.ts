import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type AdminParams, type BackupManifest, backupFiles, messageOf } from '@signalbox/protocol';
import { within } from '@signalbox/serving';
import { writeWhole } from '@signalbox/serving/whole-files';
import { copyDatabase, describeFile, syncFile } from '@signalbox/store/internal';
import { type BackupDirectory, BackupError } from './backup-directory.ts';

/** The progress of a backup. */
export interface BackupProgress {
  copied: boolean;
  copiedBytes: number;
  /** The total size. It is an estimate until everything is copied. */
  totalBytes: number;
}

/** The journal that an orchestrator put into a backup. */
export type BackupJournal = NonNullable<AdminParams<'backup_finish'>['journal']>;

/** The identity of a backup. */
export interface BackupFacts {
  id: string;
  brokerId: string;
  dataDir: string;
  beganAt: number;
}

/**
 * The databases of the data directory in the order in which they are copied. Tasks of callers from outside come after the messages that ask
 * for them: a restore has messages sent that the broker lacks. A directory that no caller from outside has used has no file of tasks.
 */
const databases = ['messages', 'tokens', 'audit', 'outsideTasks'] as const;
const waitMs = 1000;

/** A running backup. It begins to copy the broker's files when it is made. */
export class RunningBackup {
  readonly directory: BackupDirectory;
  readonly #facts: BackupFacts;
  readonly #abort = new AbortController();
  readonly #copying: Promise<BackupManifest['files']>;
  #copied = false;
  /** The bytes of the copied databases, and of the one that is being copied. */
  #done = 0;
  #current = { copiedBytes: 0, totalBytes: 0 };
  #finishing: Promise<BackupManifest> | undefined;
  #givingUp: Promise<void> | undefined;

  constructor(directory: BackupDirectory, facts: BackupFacts) {
    this.directory = directory;
    this.#facts = facts;
    this.#copying = this.#copyAll();
    // Room on a full disk is freed at once, and not when the caller asks for the progress.
    this.#copying.catch(() => this.giveUp('the copy failed'));
  }

  /** Resolves when everything is copied, or after a second. Rejects with a `BackupError` if it can't be copied. */
  async wait(): Promise<BackupProgress> {
    try {
      await within(this.#copying, waitMs);
    } catch (thrown) {
      await this.giveUp('the copy failed');
      throw new BackupError(messageOf(thrown), { cause: thrown });
    }
    const { copiedBytes, totalBytes } = this.#current;
    return {
      copied: this.#copied,
      copiedBytes: this.#done + copiedBytes,
      totalBytes: this.#done + totalBytes,
    };
  }

  /** Writes the manifest when everything is copied. From then on the directory is a backup. */
  finish(journal: BackupJournal | undefined, endedAt: () => number): Promise<BackupManifest> {
    this.#finishing ??= this.#finish(journal, endedAt).catch(async (thrown) => {
      this.#finishing = undefined;
      await this.giveUp('it could not be finished');
      throw new BackupError(messageOf(thrown), { cause: thrown });
    });
    return this.#finishing;
  }

  /** Stops copying and removes the copied files. If a manifest is being written, it is awaited instead. */
  giveUp(reason: string): Promise<void> {
    this.#givingUp ??= this.#giveUp(reason);
    return this.#givingUp;
  }

  async #copyAll(): Promise<BackupManifest['files']> {
    const files = [];
    for (const name of databases) {
      const order = {
        source: join(this.#facts.dataDir, backupFiles[name]),
        target: join(this.directory.path, backupFiles[name]),
      };
      if (name === 'outsideTasks' && !existsSync(order.source)) continue;
      const copied = await copyDatabase(order, {
        signal: this.#abort.signal,
        onProgress: (progress) => {
          this.#current = progress;
        },
      });
      this.#done += copied.bytes;
      this.#current = { copiedBytes: 0, totalBytes: 0 };
      files.push({ name: backupFiles[name], ...copied });
    }
    this.#copied = true;
    return files;
  }

  async #finish(journal: BackupJournal | undefined, endedAt: () => number): Promise<BackupManifest> {
    const files = [...(await this.#copying)];
    const { path } = this.directory;
    const journalFile = join(path, backupFiles.journal);
    if (journal) files.push({ name: backupFiles.journal, ...(await describeFile(journalFile)) });
    else await rm(journalFile, { force: true });
    const { id, brokerId, beganAt } = this.#facts;
    const manifest: BackupManifest = {
      format: 1,
      id,
      broker_id: brokerId,
      ...(journal && { journal }),
      began_at: beganAt,
      ended_at: endedAt(),
      files,
    };
    const file = join(path, backupFiles.manifest);
    await writeWhole(file, `${JSON.stringify(manifest, null, 2)}\n`);
    await rm(join(path, backupFiles.unfinished), { force: true });
    await syncFile(path);
    return manifest;
  }

  async #giveUp(reason: string): Promise<void> {
    const isFinished = await this.#finishing?.then(
      () => true,
      () => false,
    );
    if (isFinished) return;
    this.#abort.abort(new BackupError(reason));
    await this.#copying.catch(() => {});
    await this.directory.remove();
  }
}
