import { figure } from '@signalbox/protocol/internal';
/** The bounds of one message. `nodes` counts values, names and containers of JSON: parsed, a node takes up to 40 bytes. */
export interface MessageBounds {
  bytes: number;
  nodes: number;
}

/**
 * The `data` of the error that stands for an answer which is too large. It is compared by identity, so no server can send
 * it.
 */
export const answerTooLarge = { reason: 'the answer is too large' };

/** Returns a sentence that names the bound that a server's message exceeds, and how to raise it. */
export function tooLargeMessage(exceeded: keyof MessageBounds, bounds: MessageBounds): string {
  const most = figure(bounds[exceeded]);
  const of = exceeded === 'bytes' ? 'bytes; raise limits.answerBytes of the server' : 'values and names';
  return `the server sent a message of more than ${most} ${of}`;
}
