import type { Config } from '../config.ts';
import { formatListenAddress, type ListenAddress } from '../listen-address.ts';

const everyHost: readonly string[] = ['0.0.0.0', '::'];

/** Warns if broker and orchestrator would listen on the same port. `file` is the configuration as people named it. */
export function sharedListenAddress({ broker, orchestrator }: Config, file: string): string[] {
  const { listen } = orchestrator;
  if (!listen || !overlap(broker.listen, listen)) return [];
  return [
    `${file}: orchestrator.listen: ${formatListenAddress(listen)} is the port of broker.listen, so that only one of them can start; choose another one`,
  ];
}

function overlap(one: ListenAddress, other: ListenAddress): boolean {
  if (one.port !== other.port || one.port === 0) return false;
  return one.host === other.host || everyHost.includes(one.host) || everyHost.includes(other.host);
}
