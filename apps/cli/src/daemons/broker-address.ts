import { parseBrokerAddress } from '@signalbox/protocol';

/** The facts that a broker announces when it is ready. */
export interface BrokerReady {
  /** The TCP address. */
  url: string;
  /** The address of the Unix socket, if there is one. */
  socket?: string;
  data: string;
  operatorTokenFile: string;
}

/** Returns the addresses of a broker, for people. */
export function addressesOf({ url, socket }: Pick<BrokerReady, 'url' | 'socket'>): string {
  return socket === undefined ? url : `${socket} and ${url}`;
}

/** Returns ` --insecure` if commands need it to reach a broker at this address, and an empty text if not. */
export function insecureOption(url: string): string {
  return url.startsWith('wss:') || parseBrokerAddress(url, { insecure: true }).isLocal ? '' : ' --insecure';
}

/** Returns the port that a broker took: agents look for it there after a restart. */
export function portOf({ url }: Pick<BrokerReady, 'url'>): number {
  const { port, protocol } = new URL(url);
  return port === '' ? { 'ws:': 80, 'wss:': 443 }[protocol]! : Number(port);
}
