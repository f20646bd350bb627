import type { DeliverFrame } from '@signalbox/protocol';
import type { DeadlineTable } from './deadline-table.ts';
import type { DeliverQueue } from './deliver-queue.ts';
import { clientError } from './errors.ts';

export interface ReceiptPorts {
  delivers: DeliverQueue;
  deadlines: DeadlineTable;
  now: () => number;
  isConnected: () => boolean;
}

/** Sends a message and resolves with `duplicate` of its receipt; rejects if it is refused, aborted or out of time. */
export function awaitReceipt(
  message: { frame: DeliverFrame; body: string | undefined },
  options: { timeoutMs: number; signal?: AbortSignal },
  ports: ReceiptPorts,
): Promise<boolean> {
  const { timeoutMs, signal } = options;
  const { delivers, deadlines, now, isConnected } = ports;
  const { id, to } = message.frame;
  if (signal?.aborted) return Promise.reject(aborted(id, false, signal));
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const finish = (): void => {
    deadlines.cancel(deadline);
    signal?.removeEventListener('abort', onAbort);
  };
  const giveUp = (error: Error): void => {
    delivers.drop(deliver);
    finish();
    reject(error);
  };
  const onAbort = (): void => giveUp(aborted(id, deliver.mayBeStored, signal));
  const deliver = delivers.add({
    ...message,
    sentIsEnough: message.frame.ephemeral === true,
    owner: {
      receipted: (duplicate) => {
        finish();
        resolve(duplicate);
      },
      refused: (error, mayBeStored) => {
        if (mayBeStored && error.retryable) return true;
        finish();
        reject(error);
        return false;
      },
      closed: (error) => {
        finish();
        reject(error);
      },
    },
  });
  const deadline = deadlines.add(now() + timeoutMs, () => {
    const text = `no receipt for the message to ${to} within ${timeoutMs} ms`;
    const details = { id, mayBeStored: deliver.mayBeStored };
    giveUp(clientError(isConnected() ? 'timed_out' : 'connection_lost', text, { details }));
  });
  signal?.addEventListener('abort', onAbort, { once: true });
  return promise;
}

function aborted(id: string, mayBeStored: boolean, signal: AbortSignal | undefined): Error {
  return clientError('aborted', 'the deliver was aborted before its receipt', {
    cause: signal?.reason,
    details: { id, mayBeStored },
  });
}
