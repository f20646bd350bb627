import { waitForBroker } from '@signalbox/client/internal';
import { type RunningA2a, runA2a } from '@signalbox/daemon/a2a';
import { findConfig, formatListenAddress, listenError } from '@signalbox/daemon/config/internal';
import { dataDirectory } from '@signalbox/daemon/data-directory';
import { isSupervised } from '@signalbox/daemon/supervisor';
import { SignalboxError } from '@signalbox/protocol';
import { a2aParts } from '../config/config-parts.ts';
import { handedConfig } from '../config/handed-config.ts';
import { loadFound } from '../config/load-found.ts';
import { authoritiesFor } from '../connection/authorities.ts';
import { brokerPlace } from '../connection/connection.ts';
import type { ConnectionFlags } from '../connection/named-identity.ts';
import { announceReady } from '../daemons/announce-ready.ts';
import { listenOption } from '../daemons/listen-option.ts';
import { withOtherProgram } from '../daemons/running-already.ts';
import { faultFromEnvironment } from '../process/fault-environment.ts';
import { returnIdleMemory } from '../process/idle-memory.ts';
import { logInto, openLog } from '../process/log.ts';
import { firstEnd, stopRequested } from '../process/stop-signals.ts';
import { ownVersion } from '../process/version.ts';

/** The options of `signalbox a2a serve`. */
export interface A2aServeFlags extends Omit<ConnectionFlags, 'tokenFile' | 'agent'> {
  /** HOST:PORT */
  listen?: string;
  json?: boolean;
}

/** The facts that a bridge announces when it is ready. */
export interface A2aReady {
  /** Scheme, host and port at which it listens. */
  origin: string;
  /** The addresses of the agents by their names. */
  agents: Readonly<Record<string, string>>;
}

/** Serves agents over A2A until the process is asked to end. */
export async function a2aServe(flags: A2aServeFlags): Promise<void> {
  const fault = faultFromEnvironment(process.env);
  const found = findConfig(flags.config, { search: !isSupervised() });
  const config = (await handedConfig()) ?? (await loadFound(found, { parts: a2aParts }));
  const { a2a } = config;
  if (!a2a) {
    throw new SignalboxError(
      'usage',
      'the configuration has no section a2a, which names the agents to serve',
      {
        details: {
          hint: 'add one: a2a: { agents: { rosa: { description: answers questions } }, roles: [outside] }',
        },
      },
    );
  }
  const place = brokerPlace(flags, { found, config });
  const authorities = authoritiesFor(place.url, flags, process.env);
  const listen = listenOption(flags.listen) ?? a2a.listen;
  const log = await openLog('a2a', 'info');
  const stop = stopRequested();
  const connect = {
    url: place.url,
    insecure: flags.insecure ?? false,
    ...(authorities && { ca: authorities.pem }),
  };
  const dataDir = dataDirectory(flags.data, config);
  await using bridge = await runA2a({
    config: { ...config, a2a: { ...a2a, listen } },
    dataDir,
    connect,
    insecure: flags.insecure ?? false,
    version: ownVersion(),
    log: logInto(log),
    fault,
  }).catch((thrown) => {
    const refused = listenError(
      thrown,
      formatListenAddress(listen),
      'choose another address with a2a.listen',
    );
    // A supervisor starts it again when the other one has ended.
    throw refused ?? (isSupervised() ? thrown : withOtherProgram(thrown, dataDir));
  });
  const ended = firstEnd<string | Error>(stop, bridge.failed);
  const waiting = new AbortController();
  const reached = waitForBroker(connect, {
    onWait: () => log.warn({ url: place.url }, 'no broker answers yet; requests are refused until one does'),
    signal: waiting.signal,
  });
  reached.catch(() => {});
  const early = await Promise.race([ended, reached]);
  if (early !== undefined) waiting.abort();
  if (early instanceof Error) throw early;
  if (early !== undefined) return;
  const ready: A2aReady = { origin: bridge.origin, agents: bridge.urls };
  announceReady({ ...ready, pid: process.pid }, readyLines(bridge, place.url), flags);
  using _memory = returnIdleMemory(logInto(log, 'debug'));
  const end = await ended;
  if (end instanceof Error) throw end;
  log.info({ reason: end }, 'ending');
}

function readyLines({ urls }: RunningA2a, broker: string): string[] {
  const [first] = Object.values(urls);
  return [
    'agents ready for clients of A2A',
    ...Object.values(urls).map((url) => `  ${url}`),
    `  broker   ${broker}`,
    '',
    'Next: give a caller a token, and show its client the card',
    '  signalbox token issue --agent caller-1 --role outside --out caller-1.token',
    `  ${first}/.well-known/agent-card.json`,
  ];
}
