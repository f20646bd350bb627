import { basename, dirname, resolve } from 'node:path';
import type { Config, ListenAddress } from '@signalbox/daemon/config';
import { builtInConfig } from '@signalbox/daemon/config/internal';
import {
  brokerKeeper,
  dataDirectory,
  runningBroker,
  runningDirectories,
} from '@signalbox/daemon/data-directory';
import { errorOf, failureOf } from '@signalbox/daemon/supervisor';
import { SignalboxError } from '@signalbox/protocol';
import { shellWords } from '../terminal/shell-words.ts';
import { portOf } from './broker-address.ts';

/** A broker that was to be started. */
export interface WantedBroker {
  /** Its configuration file, as it was named or found. */
  file?: string;
  config: Config;
  dataDir: string;
  listen: ListenAddress;
}

/**
 * Says of a broker that holds the data directory or the port which one it is, how it is ended, and how this project gets a broker of its own.
 * Any other thrown value is returned as it is.
 */
export function withOtherBroker(error: unknown, { file, dataDir, listen, config }: WantedBroker): unknown {
  // Here a store's error comes as it is, and from a child as the failure that it reported.
  const known = errorOf(failureOf(error));
  const isPort = known.code === 'address_in_use';
  if (!isPort && known.code !== 'data_directory_locked') return error;
  // With --data the port may be that of the broker which this configuration started on its own data directory.
  const usual = [config, builtInConfig()].map((one) => dataDirectory(undefined, one));
  const places = isPort ? [...usual, ...runningDirectories()] : [dataDir];
  const place = places.find((one) => {
    const url = runningBroker(one)?.url;
    return !isPort || (url !== undefined && portOf({ url }) === listen.port);
  });
  const holder = place === undefined ? undefined : holderOf(place);
  if (place === undefined || holder === undefined) return error;
  const { config: of } = runningBroker(place) ?? {};
  const own = file === undefined ? '--data and --listen' : `broker: { data, listen } in ${file}`;
  const data = `~/.local/state/signalbox-${ownName(file)}`;
  const port = [0, 65_535].includes(listen.port) ? 0 : listen.port + 1;
  const whose = of === undefined ? 'without a configuration' : `of ${of}`;
  return instead(known, {
    message: `the broker ${whose} runs already, on ${place} (${holder.text})`,
    hint: `${holder.cure}; for a second one beside it set ${own}, as in ${data} and 127.0.0.1:${port}`,
  });
}

/** The programs that take a file of a data directory for themselves, by the code with which a second one fails. */
const alone: Readonly<Record<string, string>> = {
  journal_in_use: 'an orchestrator',
  a2a_running: 'a bridge to clients of A2A (signalbox a2a serve)',
};

/**
 * Says of an orchestrator or a bridge that runs on a data directory already which process keeps it and how it is ended. Any other thrown
 * value is returned as it is.
 */
export function withOtherProgram(error: unknown, dataDir: string, label?: string): unknown {
  if (!(error instanceof SignalboxError)) return error;
  const program = alone[error.code];
  if (program === undefined) return error;
  // A process that `signalbox up` does not keep is known only by its file.
  const isKept = label === undefined && runningBroker(dataDir)?.supervisor_pid !== undefined;
  const holder = isKept ? holderOf(dataDir) : undefined;
  const which = label === undefined ? program : `an orchestrator --host ${label}`;
  const beside =
    error.code === 'journal_in_use'
      ? '; one beside it has a label of its own: signalbox orchestrator --host LABEL'
      : '';
  return instead(error, {
    message: `${which} runs already, on ${dataDir}${holder === undefined ? '' : ` (${holder.text})`}`,
    hint: `${holder?.cure ?? 'end that one first, or name another directory with --data'}${beside}`,
  });
}

/** The process that keeps a broker, and with `signalbox up` all else, on a data directory: who it is, and what to do about it. */
function holderOf(dataDir: string): { text: string; cure: string } | undefined {
  const keeper = brokerKeeper(dataDir);
  if (keeper === undefined) return undefined;
  const { supervisor_pid: supervisor, started_at: since } = runningBroker(dataDir) ?? {};
  const isUp = supervisor !== undefined;
  const start = typeof since === 'number' ? `, since ${new Date(since).toISOString()}` : '';
  const end = isUp ? shellWords('signalbox', 'down', '--data', dataDir) : `kill ${keeper}`;
  return {
    text: `signalbox ${isUp ? 'up' : 'broker'}, process ${keeper}${start}`,
    cure: `see what it does: ${shellWords('signalbox', 'status', '--data', dataDir)}; end it: ${end}`,
  };
}

function instead(
  error: SignalboxError,
  { message, hint }: { message: string; hint: string },
): SignalboxError {
  const { code, retryable, details } = error;
  return new SignalboxError(code, message, { cause: error, retryable, details: { ...details, hint } });
}

/** Returns a name for the data directory of a project. */
function ownName(file: string | undefined): string {
  const folder = basename(file === undefined ? process.cwd() : dirname(resolve(file)));
  return folder.replace(/[^\w.-]+/g, '-') || 'project';
}
