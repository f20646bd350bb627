import { isLoopback, orchestratorMetrics, SignalboxError } from '@signalbox/protocol';
import {
  openStatusListener,
  reportedFamilies,
  type StatusListener,
  StatusRequests,
} from '@signalbox/serving/monitoring';
import type { ListenAddress } from '../../config/index.ts';
import { formatListenAddress, listenError } from '../../config/internal.ts';
import type { Log } from '../../log.ts';
import type { OrchestratorHealth } from './orchestrator-health.ts';
import { type BrokerPlace, scraperAccess } from './scraper-access.ts';

/** The address at which an orchestrator answers probes and scrapers, and the sources of the answers. */
export interface StatusOptions {
  listen: ListenAddress;
  /** Allows an address beyond loopback, although scrapers send their tokens unencrypted. */
  insecure: boolean;
  /** The id of the orchestrator. */
  id: string;
  broker: BrokerPlace;
  health: OrchestratorHealth;
  log: Log;
}

/**
 * Answers `/livez`, `/readyz` and `/metrics` of an orchestrator. Rejects with `insecure_listen`, `address_in_use` or `cannot_listen`.
 */
export async function openStatus(options: StatusOptions): Promise<StatusListener> {
  const { listen, insecure, id, broker, health, log } = options;
  const address = formatListenAddress(listen);
  if (!isLoopback(listen.host) && !insecure) {
    throw new SignalboxError(
      'insecure_listen',
      `orchestrator.listen: ${address} would send the tokens of scrapers unencrypted over the network; use 127.0.0.1, or accept it with --insecure`,
    );
  }
  const requests = new StatusRequests({
    ready: async () => health.ready(),
    checks: () => health.checks(),
    metrics: async () => {
      const status = health.sources?.orchestrator.status();
      return reportedFamilies(orchestratorMetrics, 'orchestrator', status ? [{ by: id, ...status }] : []);
    },
    refuse: scraperAccess(broker),
    monotonic: () => performance.now(),
    onError: (error) => log({ level: 'error', event: 'http_request_failed', error }),
  });
  try {
    return await openStatusListener(listen, requests);
  } catch (cause) {
    throw listenError(cause, address, 'choose another address with orchestrator.listen') ?? cause;
  }
}
