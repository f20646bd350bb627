import type { Log } from '@signalbox/client';
import type { Lost } from './process-messages.ts';

/** Returns the log of a client that tells of each connection which it lost, or could not open. */
export function lossesOf(tell: (lost: Lost) => unknown): Log {
  return ({ event }) => {
    if (event === 'disconnected') tell({ lost: true });
  };
}
