import type { IncomingMessage } from 'node:http';
import type { Budget } from '@signalbox/serving';

/** Makes the reader of a request's body wait when the budget of bytes is used up. `now` is in monotonic milliseconds. */
export function paceBody(request: IncomingMessage, budget: Budget, now: () => number): void {
  request.on('data', (chunk: Buffer) => {
    budget.spend(chunk.length);
    const waitMs = budget.isOverdrawn ? budget.waitMs(now()) : 0;
    if (waitMs === 0) return;
    request.pause();
    setTimeout(() => request.resume(), waitMs);
  });
}

/** Resolves when a body that is being read has ended, or its connection is closed. */
export async function bodyEnd(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.closed) return;
  await new Promise<void>((resolve) => {
    request.once('end', resolve);
    request.once('close', resolve);
  });
}
