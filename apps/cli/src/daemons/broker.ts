import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runBroker } from '@signalbox/daemon/broker';
import type { Config } from '@signalbox/daemon/config';
import { type FoundConfig, findConfig } from '@signalbox/daemon/config/internal';
import { dataDirectory } from '@signalbox/daemon/data-directory';
import { isSupervised } from '@signalbox/daemon/supervisor';
import { brokerParts } from '../config/config-parts.ts';
import { handedConfig } from '../config/handed-config.ts';
import { loadFound } from '../config/load-found.ts';
import { faultFromEnvironment } from '../process/fault-environment.ts';
import { returnIdleMemory } from '../process/idle-memory.ts';
import { logInto, openLog } from '../process/log.ts';
import { firstEnd, stopRequested } from '../process/stop-signals.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { announceReady } from './announce-ready.ts';
import { addressesOf, type BrokerReady, insecureOption } from './broker-address.ts';
import { listenOption } from './listen-option.ts';
import { withOtherBroker } from './running-already.ts';

/** The options of `signalbox broker`. */
export interface BrokerFlags {
  listen?: string;
  data?: string;
  durability?: 'full' | 'process';
  config?: string;
  acceptLoss?: boolean;
  insecure?: boolean;
  json?: boolean;
}

/** Runs a broker until the process is asked to end. */
export async function brokerProcess(flags: BrokerFlags): Promise<void> {
  const fault = faultFromEnvironment(process.env);
  const found = findConfig(flags.config, { search: !isSupervised() });
  const config = (await handedConfig()) ?? (await loadParts(found));
  const listen = listenOption(flags.listen);
  const page = pageDirectory();
  const log = await openLog('broker', 'info');
  let onHangup = (): void | Promise<void> => {};
  const stop = stopRequested({ onHangup: () => void onHangup() });
  await using broker = await runBroker({
    config,
    ...(flags.data !== undefined && { dataDir: flags.data }),
    ...(listen && { listen }),
    ...(flags.durability && { durability: flags.durability }),
    insecure: flags.insecure ?? false,
    acceptLoss: flags.acceptLoss ?? false,
    ...(isSupervised() && { supervisorPid: process.ppid }),
    fault,
    ...(page !== undefined && { pageDirectory: page }),
    log: logInto(log),
  }).catch((error) => {
    // A supervisor starts it again when the other one has ended, or says this itself.
    if (isSupervised()) throw error;
    throw withOtherBroker(error, {
      ...(found && { file: found.file }),
      config,
      dataDir: dataDirectory(flags.data, config),
      listen: listen ?? config.broker.listen,
    });
  });
  onHangup = async () => {
    try {
      await broker.reload(await loadParts(found));
    } catch (error) {
      log.error({ error }, 'the configuration is wrong, and everything stays as it is');
    }
  };
  const { url, socket, dataDir: data, operatorTokenFile } = broker;
  const ready: BrokerReady = { url, ...(socket !== undefined && { socket }), data, operatorTokenFile };
  announceReady({ ...ready }, readyLines(ready), flags);
  using _memory = returnIdleMemory(logInto(log, 'debug'));
  const failed = broker.failed.then((error) => Promise.reject(error));
  log.info({ reason: await firstEnd(stop, failed) }, 'stopping');
}

/** Reads what a broker needs of its configuration. */
function loadParts(found: FoundConfig | undefined): Promise<Config> {
  return loadFound(found, { parts: brokerParts });
}

function readyLines(ready: BrokerReady): string[] {
  const { data, operatorTokenFile } = ready;
  return [
    `broker ready at ${addressesOf(ready)}`,
    `  data             ${data}`,
    `  operator token   ${operatorTokenFile}`,
    '',
    'Next: give an agent a token',
    `  signalbox token issue --agent researcher-1 --role researcher --out researcher.token --data ${shellWords(data)}${insecureOption(ready.socket ?? ready.url)}`,
  ];
}

/** Returns the directory with the built page of the dashboard: beside the bundle, or in a checkout. `undefined` if it was not built. */
function pageDirectory(): string | undefined {
  const places = ['./ui/', '../../../dashboard/dist/'];
  return places.map((place) => fileURLToPath(new URL(place, import.meta.url))).find(existsSync);
}
