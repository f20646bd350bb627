import type { Log } from '@signalbox/client';
import type { Lost } from './process-messages.ts';

/** Returns a log for a client that calls `tell` for each connection that the client lost or could not open. */
export function lossesOf(tell: (lost: Lost) => unknown): Log {
  return ({ event }) => {
    if (event === 'disconnected') tell({ lost: true });
  };
}
