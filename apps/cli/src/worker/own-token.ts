import { SignalboxError } from '@signalbox/protocol';
import { type ConnectionFlags, namedToken } from '../broker-connection/connection.ts';

/** A worker is never the operator by standing on the broker's machine. Throws `usage` if nothing names a token. */
export function requireOwnToken(flags: ConnectionFlags): void {
  if (namedToken(flags, process.env) === undefined) throw noOwnToken('a worker needs a token of its own');
}

/** `usage`: what was given is no worker's token. */
export function noOwnToken(message: string): SignalboxError {
  return new SignalboxError('usage', message, {
    details: {
      hint: 'issue one with signalbox token issue, and pass it with --token-file or SIGNALBOX_TOKEN_FILE',
    },
  });
}
