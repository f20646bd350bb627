import type { BrokerClient, Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import type { Journal } from '@signalbox/store/journal';

/** The time between two questions to the broker, in milliseconds. */
const defaultEveryMs = 60_000;
/** The most calls in one question. */
const atOnce = 64;

/** The dependencies of {@link watchSettledRequests}. */
export interface SettledRequestsDeps {
  client: Pick<BrokerClient, 'find'>;
  journal: Journal;
  /** Returns the name of the broker and of the client's inbox. */
  inbox: () => string;
  everyMs?: number | undefined;
  log: Log;
}

/**
 * Asks the broker now and then whether the requests of calls in doubt are settled, and notes those that are. The journal may forget only
 * these, because any clock can be wrong. A request that the broker does not know is over, too: its lifetime has passed while the journal
 * was open, so neither the broker nor its sender can deliver it again.
 */
export function watchSettledRequests(deps: SettledRequestsDeps): Disposable {
  let isAsking = false;
  let isStopped = false;
  const timer = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    void askAll(deps, () => isStopped)
      .catch((thrown) => deps.log({ event: 'requests_not_checked', reason: messageOf(thrown) }))
      .finally(() => {
        isAsking = false;
      });
  }, deps.everyMs ?? defaultEveryMs);
  timer.unref();
  return {
    [Symbol.dispose]() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}

async function askAll(
  { client, journal, inbox }: SettledRequestsDeps,
  isStopped: () => boolean,
): Promise<void> {
  let after = 0;
  while (!isStopped()) {
    const calls = await journal.inDoubt(inbox(), after, atOnce);
    if (calls.length === 0 || isStopped()) return;
    const states = await client.find(calls.map(({ key }) => ({ agent: key.agent, id: key.requestId })));
    if (isStopped()) return;
    for (const [i, { key }] of calls.entries()) if (states[i] !== 'open') journal.settle(key, 'found');
    after = calls.at(-1)!.number;
  }
}
