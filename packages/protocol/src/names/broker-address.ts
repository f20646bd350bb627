import { SignalboxError } from '../signalbox-error.ts';
import { isLoopback } from './loopback.ts';

/** The longest path of a broker's Unix socket, in bytes. The systems allow 103 or 107. */
const maxSocketPathBytes = 100;

/** The most addresses of one list. */
const maxBrokerAddresses = 16;

/** The address of a broker: a Unix socket if `socketPath` is there, else the WebSocket URL. */
export interface BrokerAddress {
  /** The address as it was written. */
  url: string;
  /** True if it leads to this machine: it is a Unix socket or a loopback address. */
  isLocal: boolean;
  /** The absolute path of the Unix socket. */
  socketPath?: string;
}

/** Writes the address of a Unix socket, as {@link parseBrokerAddress} reads it. */
export function socketAddress(path: string): string {
  return `unix:${path}`;
}

/** Returns the reason why the broker's socket can't have this path, or `undefined` if it can. */
export function socketPathProblem(path: string): string | undefined {
  if (path.includes(',')) return `a comma ends an address, and the path ${path} has one`;
  const bytes = Buffer.byteLength(path);
  if (bytes <= maxSocketPathBytes) return undefined;
  return `the path of a socket has at most ${maxSocketPathBytes} bytes, and ${path} has ${bytes}`;
}

/**
 * Reads the addresses under which clients reach the broker, or several brokers of one namespace: one address or several, separated by
 * commas, each as {@link parseBrokerAddress} reads it. Throws as that does, and `bad_broker_url` for an address that occurs twice.
 */
export function parseBrokerAddresses(text: string, options: { insecure?: boolean } = {}): BrokerAddress[] {
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.length > maxBrokerAddresses) {
    throw badUrl(
      `a list has at most ${maxBrokerAddresses} addresses of brokers, and this one has ${entries.length}`,
    );
  }
  const emptyAt = entries.length > 1 ? entries.indexOf('') : -1;
  if (emptyAt >= 0)
    throw badUrl(`address ${emptyAt + 1} of ${entries.length} in the list of brokers is empty`);
  const addresses = entries.map((entry) => parseBrokerAddress(entry, options));
  const repeated = entries.find((entry, at) => entries.indexOf(entry) !== at);
  if (repeated !== undefined) throw badUrl(`the list of brokers has ${repeated} twice`);
  return addresses;
}

/**
 * Reads one address of a broker: `unix:/absolute/path`, `ws://host:port` or `wss://host:port`. Throws `SignalboxError` `bad_broker_url`, or
 * `insecure_url` for plain `ws://` to another machine without `insecure`.
 */
export function parseBrokerAddress(text: string, { insecure = false } = {}): BrokerAddress {
  const path = /^unix:(.*)$/s.exec(text)?.[1];
  if (path !== undefined) return socketOf(text, path);
  const url = URL.parse(text);
  if (url && (url.username !== '' || url.password !== '')) {
    throw badUrl(
      "a broker's url holds no user and no password",
      'a token says who you are, as in --token-file FILE',
    );
  }
  if (!url || !/^wss?:$/.test(url.protocol) || url.hash !== '' || text.includes(',')) {
    throw badUrl(
      `'${text}' is not a broker's address; it looks like unix:/path/to/broker.sock or ws://127.0.0.1:7420`,
    );
  }
  const isLocal = isLoopback(url.hostname);
  if (url.protocol === 'wss:' || insecure || isLocal) return { url: text, isLocal };
  throw new SignalboxError(
    'insecure_url',
    `${text} leads to another machine without encryption: anybody who sees the traffic can read the token and every message; use wss://, or accept it with --insecure`,
    { details: { field: 'url' } },
  );
}

function socketOf(url: string, socketPath: string): BrokerAddress {
  if (!/^\/[^\p{Cc}]*[^\p{Cc}/]$/u.test(socketPath)) {
    throw badUrl(
      "'unix:' is followed by the absolute path of a socket, as in unix:/home/rosa/state/broker.sock",
    );
  }
  const problem = socketPathProblem(socketPath);
  if (problem === undefined) return { url, isLocal: true, socketPath };
  throw badUrl(
    problem,
    'a broker of such a data directory has its socket elsewhere: it prints the address when it starts',
  );
}

function badUrl(message: string, hint?: string): SignalboxError {
  return new SignalboxError('bad_broker_url', message, {
    details: { field: 'url', ...(hint !== undefined && { hint }) },
  });
}

/** The facts of a directory that decide who may put a socket into it, as `stat` reports them. */
interface DirectoryFacts {
  uid: number;
  mode: number;
}

/**
 * Returns the reason why a socket in a directory may be somebody else's, or `undefined` if only `user` and root can have put it there.
 */
export function untrustedDirectory({ uid, mode }: DirectoryFacts, user: number): string | undefined {
  if (uid !== user && uid !== 0) return `it belongs to user ${uid}, and this process runs as user ${user}`;
  return (mode & 0o022) === 0 ? undefined : 'other users may write to it';
}
