import type { BrokerClient } from '@signalbox/client';
import { addJournal, type BegunBackup, beginBackup, finishBackup } from '@signalbox/client/operator/internal';
import { type BackupManifest, messageOf, SignalboxError } from '@signalbox/protocol';

/** The state of a sign-in's backup. Times are epoch milliseconds. */
export type BackupState =
  | { state: 'none' }
  | { state: 'running'; directory: string; began_at: number; copied_bytes: number; total_bytes: number }
  | {
      state: 'done';
      directory: string;
      host: string;
      manifest: BackupManifest;
      /** The reason why it holds no journal of an orchestrator. */
      journal_missing?: string;
    }
  | { state: 'failed'; directory: string; code: string; message: string };

/**
 * Makes backups for a sign-in, one at a time, and remembers the result of the last one. A running backup is given up with the sign-in's
 * connection.
 */
export class SignInBackup {
  state: BackupState = { state: 'none' };

  /** Begins a backup. Resolves when it has begun, and rejects if another one is running. */
  async begin(
    client: BrokerClient,
    orchestrator: string,
    directory: string,
    now: () => number,
  ): Promise<void> {
    if (this.state.state === 'running')
      throw new SignalboxError(
        'bad_request',
        `a backup into ${this.state.directory} is under way; try again when it has ended`,
      );
    this.state = { state: 'running', directory, began_at: now(), copied_bytes: 0, total_bytes: 0 };
    void this.#run(client, orchestrator, directory).then(
      (state) => {
        this.state = state;
      },
      (error) => {
        const code = error instanceof SignalboxError ? error.code : 'internal';
        this.state = { state: 'failed', directory, code, message: messageOf(error) };
      },
    );
  }

  async #run(client: BrokerClient, orchestrator: string, directory: string): Promise<BackupState> {
    const begun = await beginBackup(client, directory, (progress) => {
      if (this.state.state === 'running') this.state = { ...this.state, ...progress };
    });
    // The journal comes last: it then knows every call whose request is in the copy of the broker.
    const { journal, missing } = await takeJournal(client, orchestrator, begun);
    const manifest = await finishBackup(client, journal);
    const { directory: path, host } = begun;
    return {
      state: 'done',
      directory: path,
      host,
      manifest,
      ...(missing !== undefined && { journal_missing: missing }),
    };
  }
}

async function takeJournal(client: BrokerClient, orchestrator: string, begun: BegunBackup) {
  try {
    return { journal: await addJournal(client, orchestrator, begun) };
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    if (error.code !== 'no_consumer' && error.code !== 'invalid_arguments') throw error;
    return { journal: undefined, missing: error.message };
  }
}
