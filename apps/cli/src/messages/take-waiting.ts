import type { BrokerClient } from '@signalbox/client';
import { frameLimits, type Message, SignalboxError } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';

const windowBytes = 64 * 1024 * 1024;
/** The broker pushes the backlog at once; after this much silence, in milliseconds, no more is expected. */
const quietMs = 500;

/**
 * Claims up to `limit` messages that wait in the client's own inbox, hands them to `show`, and only then acknowledges
 * them: a message that could not be shown is delivered again. Each is shown and acknowledged by itself, or with `together` all at
 * once, as many as fit into 64 MiB. Resolves with the number that is left. Rejects with `connection_lost` if an ack fails.
 */
export async function takeWaiting(
  client: BrokerClient,
  { limit, together }: { limit: number; together: boolean },
  show: (messages: readonly Message[]) => Promise<void>,
): Promise<number> {
  await using subscription = await client.subscribe({
    window: Math.min(limit, frameLimits.windowMessages),
    windowBytes,
  });
  const { pending } = subscription.subscribed;
  const wanted = Math.min(limit, pending);
  const taken: Message[] = [];
  const finish = async (messages: readonly Message[]): Promise<void> => {
    await show(messages);
    await acknowledge(client, messages);
  };
  while (taken.length < wanted) {
    const next = await beforeQuiet(subscription.messages.next());
    if (next === undefined || next.done) break;
    taken.push(next.value);
    if (!together) await finish([next.value]);
  }
  if (together) await finish(taken);
  return pending - taken.length;
}

async function acknowledge(client: BrokerClient, messages: readonly Message[]): Promise<void> {
  const seqs = messages.flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
  if (seqs.length === 0) return;
  const { rejected } = await client.ack(seqs);
  if (rejected.length === 0) return;
  const message = `${rejected.length} of the messages above could not be acknowledged and will be delivered again`;
  throw new SignalboxError('connection_lost', message, { retryable: true });
}

async function beforeQuiet<T>(promise: Promise<T>): Promise<T | undefined> {
  const result = await within(promise, quietMs);
  return result === late ? undefined : result;
}
