import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerClient } from '@signalbox/client';
import type { Message } from '@signalbox/protocol';

/** The delay of an echo worker's answers, and a callback for each message. */
export interface EchoOptions {
  /** The delay of each answer in milliseconds; by default none. */
  delayMs?: number;
  /** Called with each message before it is answered; the answer waits until this resolves. */
  onMessage: (message: Message) => Promise<void>;
}

/** A worker without a model, which runs until it is disposed. */
export type EchoWorker = AsyncDisposable;

/**
 * Answers each ask and each task with its own body, takes notes and events, and announces how busy it is. When it is
 * disposed, answers that are still delayed are sent at once.
 */
export async function startEchoWorker(client: BrokerClient, options: EchoOptions): Promise<EchoWorker> {
  const { delayMs = 0, onMessage } = options;
  const stopping = new AbortController();
  let running = 0;
  const countRunning = (change: 1 | -1): void => {
    running += change;
    client.announce({ worker: 'echo', state: running > 0 ? 'working' : 'idle' });
  };
  client.announce({ worker: 'echo', state: 'idle' });
  const requests = await client.serve(['ask', 'task'], async ({ message, json, signal }) => {
    await onMessage(message);
    countRunning(1);
    await wait(delayMs, AbortSignal.any([signal, stopping.signal]));
    countRunning(-1);
    return signal.aborted ? undefined : { kind: 'reply', body: json ?? null };
  });
  const others = await client.serve(['note', 'event'], async ({ message }) => {
    await onMessage(message);
    return undefined;
  });
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await Promise.all([requests.stop(), others.stop()]);
    },
  };
}

/** Resolves after the time, or as soon as the signal aborts. */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await delay(ms, undefined, { signal }).catch(() => {});
}
