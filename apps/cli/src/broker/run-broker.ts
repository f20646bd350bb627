import { type Broker, type BrokerOptions, startBroker } from '@signalbox/broker';
import { isLoopback } from '@signalbox/protocol';
import type { Config } from '../config/config.ts';
import { configInForce, findConfigFile } from '../config/config-in-force.ts';
import { checkDataDirectory, dataDirectory } from '../data-directory.ts';
import { faultFromEnvironment } from '../fault-environment.ts';
import { formatListenAddress } from '../listen-address.ts';
import { logInto, openLog } from '../log.ts';
import { stopRequested } from '../process-life.ts';
import { announceReady } from '../ready.ts';
import { shellWords } from '../shell-words.ts';
import { type BrokerReady, listenAddress } from './broker-facts.ts';
import { listenFailure } from './listen-failure.ts';

export interface BrokerFlags {
  listen?: string;
  data?: string;
  durability?: 'full' | 'process';
  config?: string;
  insecure?: boolean;
  json?: boolean;
}

/** Runs a broker until the process is asked to end. */
export async function runBroker(flags: BrokerFlags): Promise<void> {
  const fault = faultFromEnvironment(process.env);
  const config = await configInForce(findConfigFile(flags.config), { parts: ['broker', 'roles'] });
  const { host, port } = listenAddress(flags.listen, config);
  const dataDir = dataDirectory(flags.data, config);
  const log = await openLog('broker', 'info');
  const onHangup = () => log.info('SIGHUP: a broker reads its configuration at its start only');
  const stop = stopRequested({ onHangup });
  await using broker = await start({
    dataDir,
    host,
    port,
    durability: flags.durability ?? config.broker.durability,
    policies: policiesOf(config),
    insecure: flags.insecure ?? false,
    fault,
    log: logInto(log, 'info'),
  });
  if (!isLoopback(host)) {
    log.warn(
      'listening beyond this machine without encryption: whoever sees the traffic can read messages and tokens',
    );
  }
  const ready: BrokerReady = { url: broker.url, data: dataDir, operatorTokenFile: broker.operatorTokenFile };
  announceReady({ ...ready }, brokerLines(ready), flags);
  const failed = broker.failed.then((error) => Promise.reject(error));
  log.info({ reason: await Promise.race([stop, failed]) }, 'stopping');
}

async function start(options: BrokerOptions): Promise<Broker> {
  await checkDataDirectory(options.dataDir);
  try {
    return await startBroker(options);
  } catch (cause) {
    throw (
      listenFailure(cause, formatListenAddress({ host: options.host ?? '', port: options.port ?? 0 })) ??
      cause
    );
  }
}

function policiesOf(config: Config): Record<string, NonNullable<Config['roles'][string]['send']>> {
  return Object.fromEntries(
    Object.entries(config.roles).flatMap(([role, { send }]) => (send === undefined ? [] : [[role, send]])),
  );
}

function brokerLines({ url, data, operatorTokenFile }: BrokerReady): string[] {
  return [
    `broker ready at ${url}`,
    `  data             ${data}`,
    `  operator token   ${operatorTokenFile}`,
    '',
    'Next: give an agent a token',
    `  signalbox token issue --agent researcher-1 --role researcher --out researcher.token --data ${shellWords(data)}`,
  ];
}
