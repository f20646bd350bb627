/** An address to listen at. Port 0 asks for any free port. */
export interface ListenAddress {
  host: string;
  port: number;
}

/** The address at which a broker listens unless another is configured. */
export const defaultListen: ListenAddress = { host: '127.0.0.1', port: 7420 };

/** Reads `HOST:PORT`, `[IPv6]:PORT` or a port alone (on 127.0.0.1); `undefined` for anything else. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const match = /^(?:(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):)?(\d{1,5})$/.exec(text);
  if (!match) return undefined;
  const port = Number(match[3]);
  if (port > 65_535) return undefined;
  return { host: match[1] ?? match[2] ?? defaultListen.host, port };
}

/** Writes an address as {@link parseListenAddress} reads it. */
export function formatListenAddress({ host, port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
