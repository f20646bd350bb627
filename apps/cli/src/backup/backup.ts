import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import {
  addJournal,
  type BackupJournal,
  type BegunBackup,
  beginBackup,
  finishBackup,
} from '@signalbox/client/operator/internal';
import { copyJournalOf } from '@signalbox/daemon/backup';
import { backupFiles, messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf, parseBrokerAddresses } from '@signalbox/protocol/internal';
import { type ConnectedClient, withClient } from '../connection/connected-client.ts';
import { type Connection, type ConnectionFlags, resolveConnection } from '../connection/connection.ts';
import { type OrchestratorFlag, orchestratorOf } from '../connection/orchestrator-request.ts';
import { printJson, printLines, tableLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { withoutUsualWord } from '../wrong-line.ts';

/** The options of `signalbox backup`. */
export interface BackupFlags extends ConnectionFlags, OrchestratorFlag {
  json?: boolean;
}

/** The journal in a backup, or why there is none. */
type TakenJournal = { journal: BackupJournal; reason?: undefined } | { journal?: undefined; reason: string };

/** Makes a backup and prints what is in it. If the process is ended, the broker removes what was made. */
export async function makeBackup(directory: string, flags: BackupFlags): Promise<void> {
  refuseUsualWord(directory);
  const target = absolutePath(directory, await resolveConnection(flags));
  const { begun, manifest, reason } = await withClient(flags, async (connected) => {
    const begun = await beginBackup(connected.client, target);
    // Here the broker still removes what it wrote where nobody finds it.
    await requireInSight(begun, backupFiles.unfinished);
    // The journal comes last: it then knows every call whose request is in the copy of the broker.
    const { journal, reason } = await takeJournal(connected, flags, begun);
    const manifest = await finishBackup(connected.client, journal);
    await requireInSight(begun, backupFiles.manifest);
    return { begun, manifest, reason };
  });
  const { directory: path, host } = begun;
  if (flags.json) {
    return printJson({
      directory: path,
      host,
      manifest,
      ...(reason !== undefined && { journal_missing: reason }),
    });
  }
  const rows = manifest.files.map(({ name, bytes }) => [name, String(bytes)]);
  printLines(
    `backup of ${new Date(manifest.began_at).toISOString()} in ${path} on ${host}`,
    ...tableLines(['FILE', 'BYTES'], rows).map((line) => `  ${line}`),
    ...(reason === undefined ? [] : ['', `Without the journal: ${reason}.`, noJournal]),
    '',
    'Not in it: signalbox.yaml and the files that it names, sign-ins to MCP servers, and the texts of tokens.',
    'Next: read it back',
    `  ${shellWords('signalbox', 'backup', 'verify', path)}`,
  );
}

const noJournal =
  'Calls that wait in it and are not safe to repeat end as outcome_unknown, as after every restore.';

/** Refuses a word that is probably meant as a command. */
function refuseUsualWord(directory: string): void {
  if (withoutUsualWord(directory) === undefined) return;
  throw new SignalboxError('usage', `'${directory}' is no command of signalbox backup`, {
    details: { hint: `a directory of this name is ./${directory}; see: signalbox backup --help` },
  });
}

/** The broker writes the directory, so a path is absolute. Only on the broker's own machine is this folder the broker's, too. */
function absolutePath(directory: string, { dataDir, url }: Connection): string {
  const isLocal =
    dataDir !== undefined || parseBrokerAddresses(url, { insecure: true }).every((one) => one.isLocal);
  if (isAbsolute(directory) || isLocal) return resolve(directory);
  throw new SignalboxError(
    'usage',
    `'${directory}' is a relative path, and the broker is on another machine`,
    {
      details: {
        hint: `the broker at ${url} writes the backup there: name an absolute path of its machine`,
      },
    },
  );
}

/**
 * Rejects with `backup_failed` if a broker of this machine has written a file of the backup that this process does not find. A service has
 * a `/tmp` of its own, and a container a file system of its own. A directory that only the broker's user may read proves nothing.
 */
async function requireInSight({ directory, host, id }: BegunBackup, name: string): Promise<void> {
  if (host !== hostname()) return;
  const file = join(directory, name);
  const text = await readFile(file, 'utf8').catch((error) => {
    if (errnoOf(error) === 'EACCES') return undefined;
    return messageOf(error);
  });
  if (text === undefined || idIn(text) === id) return;
  throw new SignalboxError(
    'backup_failed',
    `the broker wrote the backup to ${directory}, and it is not there`,
    {
      details: {
        hint:
          'somebody removed it, or the broker has another directory under this name, as a service with a /tmp of its own or a container has: ' +
          'name a directory that both see, as /var/lib/signalbox-backups of a service of systemd, or run the command inside the container',
      },
    },
  );
}

/** Returns the `id` in the JSON of a file of a backup. */
function idIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { id?: unknown }).id;
  } catch {
    return undefined;
  }
}

/** Has the orchestrator copy its journal. Copies that of a stopped one on this machine. */
async function takeJournal(
  connected: ConnectedClient,
  flags: BackupFlags,
  begun: BegunBackup,
): Promise<TakenJournal> {
  try {
    return { journal: await addJournal(connected.client, await orchestratorOf(connected, flags), begun) };
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    if (error.code === 'no_consumer') return await takeStoppedJournal(connected, begun);
    if (error.code === 'invalid_arguments') return { reason: error.message };
    throw error;
  }
}

async function takeStoppedJournal(
  { connection }: ConnectedClient,
  begun: BegunBackup,
): Promise<TakenJournal> {
  const { dataDir } = connection;
  if (dataDir === undefined) return { reason: 'no orchestrator is connected that could copy it' };
  try {
    const id = await copyJournalOf(dataDir, begun.directory);
    return id === undefined ? { reason: `no orchestrator has run on ${dataDir}` } : { journal: { id } };
  } catch (error) {
    const isInUse = error instanceof SignalboxError && error.code === 'journal_in_use';
    if (!isInUse) throw error;
    return { reason: `an orchestrator that is not connected holds it: ${messageOf(error)}` };
  }
}
