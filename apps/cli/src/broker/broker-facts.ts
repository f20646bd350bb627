import { SignalboxError } from '@signalbox/protocol';
import type { Config } from '../config/config.ts';
import { type ListenAddress, parseListenAddress } from '../listen-address.ts';

/** What a broker says of itself when it is ready. */
export interface BrokerReady {
  url: string;
  data: string;
  operatorTokenFile: string;
}

/** The address a broker listens on: the flag, else the config. Throws `usage`. */
export function listenAddress(flag: string | undefined, config: Config): ListenAddress {
  const address = flag === undefined ? config.broker.listen : parseListenAddress(flag);
  if (address) return address;
  throw new SignalboxError('usage', `--listen '${flag}' is not HOST:PORT, as in 127.0.0.1:7420`);
}
