import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type BrokerAddress, SignalboxError } from '@signalbox/protocol';
import { parseBrokerAddresses } from '@signalbox/protocol/internal';
import { openWebSocket } from './open-web-socket.ts';

/** The longest wait for the answer of a broker, and the time between two tries, in milliseconds. */
const answerMs = 5_000;
const againMs = 500;

/**
 * Resolves when a broker has taken a connection at one of the addresses, without a token. Rejects with `bad_config` or `untrusted_socket`
 * for an address that can't be used, and with the reason of the signal. `onWait` is called once if no broker answers.
 */
export async function waitForBroker(
  { url, insecure = false, ca }: { url: string; insecure?: boolean | undefined; ca?: string | undefined },
  { onWait, signal }: { onWait: () => void; signal: AbortSignal },
): Promise<void> {
  const addresses = parseBrokerAddresses(url, { insecure });
  for (let tries = 0; ; tries++) {
    for (const address of addresses) {
      if (await answers(address, ca, signal)) return;
      signal.throwIfAborted();
    }
    if (tries === 0) onWait();
    await delay(againMs, undefined, { signal });
  }
}

async function answers(
  address: BrokerAddress,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const socket = openWebSocket(address, { ca });
    socket.on('error', () => {});
    try {
      await once(socket, 'open', { signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]) });
      return true;
    } finally {
      socket.terminate();
    }
  } catch (thrown) {
    if (thrown instanceof SignalboxError && !thrown.retryable) throw thrown;
    return false;
  }
}
