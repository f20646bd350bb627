import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerClient, Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import type { CallKey } from '@signalbox/store/journal';

/** The time in which a caller whose connection is lost comes back, in milliseconds. A worker tries every two seconds at least. */
const comesBackWithinMs = 10_000;
/** The pause between two questions about a caller, in milliseconds. */
const askAgainMs = 250;

/** The dependencies of {@link isCallerGone}. */
export interface AbsentCallersDeps {
  client: Pick<BrokerClient, 'find'>;
  /** The time in which a caller whose connection is lost comes back, in milliseconds; default 10 s. */
  comesBackWithinMs?: number;
  /** Monotonic milliseconds. */
  monotonic: () => number;
  log: Log;
}

/**
 * Tells whether the process that waits for a request is gone: it does not hold the inbox for its replies, and does not take it back in time.
 * Resolves with `undefined` if `signal` aborts first.
 */
export async function isCallerGone(
  deps: AbsentCallersDeps,
  { agent, requestId: id }: CallKey,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const until = deps.monotonic() + (deps.comesBackWithinMs ?? comesBackWithinMs);
  while (!signal.aborted) {
    try {
      const [state] = await deps.client.find([{ agent, id, with_sender: true }]);
      if (state !== 'orphaned') return false;
      if (deps.monotonic() >= until) return true;
    } catch (thrown) {
      deps.log({ event: 'requests_not_checked', reason: messageOf(thrown) });
    }
    await delay(askAgainMs, undefined, { signal }).catch(() => {});
  }
  return undefined;
}
