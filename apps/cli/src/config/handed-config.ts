import type { Config } from '@signalbox/daemon/config';
import { handedOver } from '@signalbox/daemon/supervisor';

/**
 * Returns the configuration that `signalbox up` read and hands over when it starts this process, which then need not load what reads
 * one; `undefined` in other processes, and in one that is started again.
 */
export async function handedConfig(): Promise<Config | undefined> {
  return (await handedOver()) as Config | undefined;
}
