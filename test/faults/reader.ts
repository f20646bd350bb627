import { setImmediate as turn } from 'node:timers/promises';
import type { BrokerClient } from '@signalbox/client';

/** Reads an inbox, acks each message, and remembers the ids in the order in which they came first. */
export interface Reader {
  readonly ids: readonly string[];
  /** Resolves when everything that the broker pushed before is among the ids. */
  caughtUp(): Promise<void>;
  /** Resolves when all of these are among the ids, or the time is over. */
  came(wanted: readonly string[], timeoutMs: number): Promise<void>;
}

/** Reads the inbox of a client until that is closed. */
export async function startReader(client: BrokerClient): Promise<Reader> {
  const ids: string[] = [];
  const known = new Set<string>();
  const waiting = new Set<() => void>();
  let isIdle = false;
  const { messages } = await client.subscribe();
  const read = async (): Promise<void> => {
    for (;;) {
      isIdle = true;
      const { done, value } = await messages.next();
      isIdle = false;
      if (done) return;
      if (!known.has(value.id)) ids.push(value.id);
      known.add(value.id);
      for (const look of waiting) look();
      // A message whose ack is lost comes again.
      await client.ack([value.seq!]).catch(() => {});
    }
  };
  void read();
  return {
    ids,
    async caughtUp() {
      // The broker answers behind what it pushed.
      await client.listConnected({ role: 'nobody' });
      do await turn();
      while (!isIdle);
    },
    came(wanted, timeoutMs) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = (): void => {
        if (wanted.every((id) => known.has(id))) resolve();
      };
      const timer = setTimeout(resolve, timeoutMs);
      waiting.add(look);
      look();
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(look);
      });
    },
  };
}
