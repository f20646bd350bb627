import { SignalboxError } from '@signalbox/protocol';
import PQueue from 'p-queue';
import { checkServers } from '../config/check-servers.ts';
import type { HostTuning } from '../config/host-tuning.ts';
import { defaultToolNameMax, smallestToolNameMax } from '../inventory/tool-name.ts';
import type { HostedServerDeps } from '../servers/hosted-server.ts';
import { ProcessSlots } from '../servers/instances/process-slots.ts';
import { ProcessRecords } from '../servers/processes/process-records.ts';
import type { McpHostOptions } from './host-api.ts';

const defaultMaxProcesses = 64;

/** What the host gives its servers. They start only when the processes a killed host left behind are gone. */
export function hostDeps(
  options: McpHostOptions,
  tuning: HostTuning,
  now: () => number,
  onChanged: () => void,
): HostedServerDeps {
  const { log = () => {}, stateDir, maxProcesses = defaultMaxProcesses } = options;
  const starts = new PQueue({ concurrency: tuning.concurrentStarts });
  const records = stateDir === undefined ? undefined : new ProcessRecords(stateDir, log);
  if (records) {
    starts.pause();
    records.reap(tuning.terminateMs).finally(() => starts.start());
  }
  return {
    tuning,
    now,
    log,
    starts,
    onChanged,
    clientInfo: options.clientInfo ?? { name: 'signalbox', version: '0.1.0' },
    random: options.random ?? Math.random,
    onProcess: (server: string, pid: number) => records?.add(server, pid) ?? (() => {}),
    slots: new ProcessSlots(maxProcesses),
    fetch: options.fetch ?? fetch,
    authorizerFor: options.authorizerFor,
  };
}

/** Throws `SignalboxError` `bad_config`. */
export function checkOptions({
  servers,
  toolNameMax = defaultToolNameMax,
  maxProcesses = 1,
}: McpHostOptions): void {
  if (toolNameMax < smallestToolNameMax) {
    throw new SignalboxError('bad_config', `toolNameMax must be at least ${smallestToolNameMax}`);
  }
  if (!Number.isSafeInteger(maxProcesses) || maxProcesses < 1) {
    throw new SignalboxError('bad_config', 'maxProcesses must be a whole number from 1 up');
  }
  checkServers(servers);
}
