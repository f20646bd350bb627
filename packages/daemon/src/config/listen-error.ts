import { once } from 'node:events';
import { createServer } from 'node:net';
import { SignalboxError } from '@signalbox/protocol';
import type { ListenAddress } from './index.ts';
import { formatListenAddress } from './listen-address.ts';

const brokerElsewhere = 'choose another address with --listen or broker.listen in the configuration';

/** Listens at an address, and stops at once. Rejects as {@link listenError} explains. */
export async function tryListening(listen: ListenAddress, elsewhere?: string): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  try {
    server.listen(listen.port, listen.host);
    await once(server, 'listening');
  } catch (cause) {
    throw listenError(cause, formatListenAddress(listen), elsewhere) ?? cause;
  } finally {
    server.close();
  }
}

/**
 * Explains why an address cannot be listened at, with what to do; returns `undefined` for any other error.
 * `elsewhere` says how another address is chosen.
 */
export function listenError(
  cause: unknown,
  address: string,
  elsewhere: string = brokerElsewhere,
): SignalboxError | undefined {
  if (!(cause instanceof Error) || !('syscall' in cause) || !('code' in cause)) return undefined;
  if (cause.syscall !== 'listen' && cause.syscall !== 'getaddrinfo') return undefined;
  switch (cause.code) {
    case 'EADDRINUSE':
      return error(
        'address_in_use',
        `something else listens at ${address} already`,
        `stop it, or ${elsewhere}`,
      );
    case 'EACCES':
      return error(
        'cannot_listen',
        `this user may not listen at ${address}`,
        `ports below 1024 are root's; ${elsewhere}`,
      );
    default:
      return error('cannot_listen', `this machine has no address to listen at ${address}`, elsewhere);
  }

  function error(code: string, message: string, hint: string): SignalboxError {
    return new SignalboxError(code, message, { cause, details: { hint } });
  }
}
