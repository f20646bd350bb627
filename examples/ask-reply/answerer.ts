import { once } from 'node:events';
import type { BrokerClient, ServedReply, ServedRequest, ServeLoop } from '@signalbox/client';

/** An agent that counts, and its callback for withdrawn questions. */
export interface Answerer {
  /** The largest number that it can count to. */
  limit: number;
  /** Called when a question was withdrawn: work on the answer can stop. */
  onWithdrawn: () => void;
}

/** Answers the asks that come to the client's inbox, until the loop is stopped. */
export function serveAsks(client: BrokerClient, answerer: Answerer): Promise<ServeLoop> {
  return client.serve(['ask'], async (request) => {
    // Anybody may write to us, so the body can be anything. The broker attests the sender in message.from.
    const ask = request.json as { count_to?: unknown; ponder?: unknown } | null | undefined;
    if (typeof ask?.count_to === 'number') return count(request, ask.count_to, answerer.limit);
    if (ask?.ponder === true) return ponder(request, answerer.onWithdrawn);
    return refusal('ask {"count_to": number} or {"ponder": true}');
  });
}

function count(request: ServedRequest, to: number, limit: number): ServedReply {
  if (to > limit) return refusal(`I can count to ${limit} at most`);
  // The asker gets progress only while it is connected: progress is never stored.
  for (let number = 1; number <= to; number++) request.progress({ number });
  return { kind: 'reply', body: { text: `counted to ${to}` } };
}

/** Runs until it is cancelled, as work that takes too long. */
async function ponder(request: ServedRequest, onWithdrawn: () => void): Promise<undefined> {
  const { signal } = request;
  request.progress({ pondering: true });
  // Pass the signal on to everything that you wait for: fetch, a child process, a tool call.
  if (!signal.aborted) await once(signal, 'abort');
  if (signal.reason.code === 'aborted') onWithdrawn();
}

/** Replies with the reason why an ask can never work. Throwing means "try again": after five tries the ask is `undeliverable`. */
function refusal(message: string): ServedReply {
  return { kind: 'reply', body: { error: { code: 'refused', message } } };
}
