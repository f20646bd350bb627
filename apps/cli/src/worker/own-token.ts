import { SignalboxError } from '@signalbox/protocol';
import { type ConnectionFlags, namedToken } from '../connection/connection.ts';

/** Throws `usage` if no option and no variable names a token: a worker never takes the operator's token by itself. */
export function requireOwnToken(flags: ConnectionFlags): void {
  if (namedToken(flags, process.env) === undefined) throw noOwnToken('a worker needs a token of its own');
}

/** Builds the `usage` error for a missing token, or for one that no worker can use. */
export function noOwnToken(message: string): SignalboxError {
  return new SignalboxError('usage', message, {
    details: {
      hint: 'issue one with signalbox token issue, and pass it with --token-file or SIGNALBOX_TOKEN_FILE',
    },
  });
}
