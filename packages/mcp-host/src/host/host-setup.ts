import { SignalboxError } from '@signalbox/protocol';
import PQueue from 'p-queue';
import { checkServers } from '../config/check-servers.ts';
import type { HostTuning } from '../config/host-tuning.ts';
import { dataFolderOf } from '../config/instance-name.ts';
import { defaultToolNameMax, smallestToolNameMax } from '../inventory/tool-name.ts';
import { WaitingCalls } from '../questions/waiting-calls.ts';
import { ListReadings } from '../servers/list-readings.ts';
import { DetachedProcesses } from '../servers/processes/detached-processes.ts';
import { ProcessRecords } from '../servers/processes/process-records.ts';
import { ProcessSlots } from '../servers/processes/process-slots.ts';
import type { ServerDeps } from '../servers/server-deps.ts';
import type { ServerEvent } from '../servers/server-events.ts';
import type { McpHostOptions } from './host-api.ts';

const defaultMaxProcesses = 64;

/**
 * Creates the dependencies of the hosted servers. No server starts before the processes that a killed host left behind have ended.
 * `onChanged` is called when the tools or problems of a server may have changed, `tell` with each change of a server.
 */
export function serverDeps(
  options: McpHostOptions,
  tuning: HostTuning,
  now: () => number,
  onChanged: () => void,
  tell: (event: ServerEvent) => void,
): ServerDeps {
  const { log = () => {}, stateDir, maxProcesses = defaultMaxProcesses } = options;
  const starts = new PQueue({ concurrency: tuning.concurrentStarts });
  const records = new ProcessRecords(stateDir, new DetachedProcesses(tuning.detachedMs, log), log);
  if (stateDir !== undefined) {
    starts.pause();
    records.reap(tuning.terminateMs).finally(() => starts.start());
  }
  return {
    tuning,
    now,
    random: options.random ?? Math.random,
    log,
    tracing: options.tracing,
    fetch: options.fetch ?? fetch,
    starts,
    slots: new ProcessSlots(maxProcesses),
    waiting: new WaitingCalls(),
    readings: new ListReadings(),
    onProcess: (server, pid, mark) => records.add(server, pid, mark),
    processesCleared: () => records.cleared(),
    dataFolderOf: (server: string) => (stateDir === undefined ? undefined : dataFolderOf(stateDir, server)),
    authorizerFor: options.authorizerFor,
    connectRemote: options.connectRemote,
    pins: options.pins,
    onChanged,
    tell,
  };
}

/** Throws `SignalboxError` `bad_config` for options that can't work. */
export function checkOptions({
  servers,
  toolNameMax = defaultToolNameMax,
  maxProcesses = 1,
  stateDir,
  pins,
}: McpHostOptions): void {
  if (toolNameMax < smallestToolNameMax) {
    throw new SignalboxError('bad_config', `toolNameMax must be at least ${smallestToolNameMax}`);
  }
  if (!Number.isSafeInteger(maxProcesses) || maxProcesses < 1) {
    throw new SignalboxError('bad_config', 'maxProcesses must be a whole number from 1 up');
  }
  checkServers(servers, { hasStateDir: stateDir !== undefined, hasPins: pins !== undefined });
}
