import type { Config } from '../config.ts';
import { formatListenAddress, type ListenAddress } from '../listen-address.ts';

const everyHost: readonly string[] = ['0.0.0.0', '::'];

/** Warns of addresses that two listeners of one configuration would share. `file` is the configuration as people named it. */
export function sharedListenAddress({ broker, orchestrator, worker, a2a }: Config, file: string): string[] {
  const listeners = [
    ['broker.listen', broker.listen],
    ['broker.store.link', broker.store?.link],
    ['orchestrator.listen', orchestrator.listen],
    ['worker.http', worker.http],
    ['a2a.listen', a2a?.listen],
  ] as const;
  return listeners.flatMap(([key, listen], at) => {
    const other = listeners.slice(0, at).find(([, earlier]) => listen && earlier && overlap(earlier, listen));
    if (!listen || !other) return [];
    return [
      `${file}: ${key}: ${formatListenAddress(listen)} is the port of ${other[0]}, so that only one of them can start; choose another one`,
    ];
  });
}

function overlap(one: ListenAddress, other: ListenAddress): boolean {
  if (one.port !== other.port || one.port === 0) return false;
  return one.host === other.host || everyHost.includes(one.host) || everyHost.includes(other.host);
}
