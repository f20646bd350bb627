import { SignalboxError } from '@signalbox/protocol';

const brokersElsewhere = 'choose another address with --listen or broker.listen in the configuration';

/** What an address that cannot be listened at means, and what to do; `undefined` for any other error. */
export function listenFailure(
  cause: unknown,
  address: string,
  elsewhere: string = brokersElsewhere,
): SignalboxError | undefined {
  if (!(cause instanceof Error) || !('syscall' in cause) || !('code' in cause)) return undefined;
  if (cause.syscall !== 'listen' && cause.syscall !== 'getaddrinfo') return undefined;
  switch (cause.code) {
    case 'EADDRINUSE':
      return failure(
        'address_in_use',
        `something else listens at ${address} already`,
        `stop it, or ${elsewhere}`,
      );
    case 'EACCES':
      return failure(
        'cannot_listen',
        `this user may not listen at ${address}`,
        `ports below 1024 are root's; ${elsewhere}`,
      );
    default:
      return failure('cannot_listen', `this machine has no address to listen at ${address}`, elsewhere);
  }

  function failure(code: string, message: string, hint: string): SignalboxError {
    return new SignalboxError(code, message, { cause, details: { hint } });
  }
}
