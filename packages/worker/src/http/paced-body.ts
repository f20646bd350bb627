import type { IncomingMessage } from 'node:http';
import type { Budget } from '@signalbox/protocol/internal';

/** Has the body of a request read no faster than a budget of bytes allows, by whoever takes it. `now` is in monotonic milliseconds. */
export function paceBody(request: IncomingMessage, budget: Budget, now: () => number): void {
  request.on('data', (chunk: Buffer) => {
    budget.spend(chunk.length);
    const waitMs = budget.isOverdrawn ? budget.waitMs(now()) : 0;
    if (waitMs === 0) return;
    request.pause();
    setTimeout(() => request.resume(), waitMs);
  });
}

/** Resolves when a body that is read has come to its end, or its connection is closed. */
export async function bodyEnd(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.closed) return;
  await new Promise<void>((resolve) => {
    request.once('end', resolve);
    request.once('close', resolve);
  });
}
