import { isLoopback, SignalboxError } from '@signalbox/protocol';
import type { Config } from '../config.ts';
import { formatListenAddress, type ListenAddress } from '../listen-address.ts';

/** The options with which `signalbox up` is started: `listen` replaces `broker.listen`, and `insecure` accepts addresses without encryption. */
export interface ListenerChoices {
  listen?: ListenAddress | undefined;
  insecure?: boolean | undefined;
}

/** Lists the addresses of a configuration at which a process refuses to listen, since other machines could read along there. */
export function openListeners(
  { file = '(config)', broker, orchestrator, worker, a2a }: Config,
  { listen: option, insecure = false }: ListenerChoices = {},
): string[] {
  const listen = option ?? broker.listen;
  const listeners = [
    [
      option ? '--listen' : `${file}: broker.listen`,
      listen,
      broker.tls ? undefined : 'encrypt it with broker.tls, ',
    ],
    [`${file}: orchestrator.listen`, orchestrator.listen, ''],
    [
      `${file}: worker.http`,
      worker.http,
      'encrypt it with a process of its own (signalbox worker mcp --http), ',
    ],
    [`${file}: a2a.listen`, a2a?.listen, a2a?.tls ? undefined : 'encrypt it with a2a.tls, '],
  ] as const;
  const plain = listeners.flatMap(([place, at, cure]) => {
    if (insecure || cure === undefined || at === undefined || isLoopback(at.host)) return [];
    return [
      `${place}: ${formatListenAddress(at)} would send tokens unencrypted over the network; ${cure}use 127.0.0.1, or accept it with --insecure`,
    ];
  });
  if (broker.metrics !== 'open' || isLoopback(listen.host)) return plain;
  return [
    ...plain,
    `${file}: broker.metrics: everybody who reaches ${formatListenAddress(listen)} could read the metrics; listen on 127.0.0.1, or take 'open' out and give the scraper a token of an observer`,
  ];
}

/** Throws `insecure_listen`, with a line for each of {@link openListeners}. */
export function checkListeners(config: Config, choices: ListenerChoices = {}): void {
  const problems = openListeners(config, choices);
  if (problems.length > 0)
    throw new SignalboxError('insecure_listen', problems.join('\n'), { details: { problems } });
}
