import type { Sender } from '@signalbox/protocol';
import type { InboxStore, NewMessage } from '@signalbox/store';
import type { CommitQueue } from './commit-queue.ts';
import { EarlyCancels } from './early-cancels.ts';
import type { Lease } from './lease.ts';
import { givenUp, type Settler } from './settler.ts';
import { tapped } from './tap.ts';

/** Most requests of one token that are taken back when it goes: more than its quotas let it have. */
const maxForbidden = 10_000;

export interface CancellationsPorts {
  store: InboxStore;
  commits: CommitQueue;
  settler: Settler;
  leases: ReadonlyMap<string, Lease>;
  now: () => number;
}

/** Takes requests back: by their sender's wish, or because its token is gone. */
export class Cancellations {
  readonly #ports: CancellationsPorts;
  readonly #cancelled = new EarlyCancels({ lifeMs: 60_000, limit: 10_000 });

  constructor(ports: CancellationsPorts) {
    this.#ports = ports;
  }

  /**
   * Cancels a request of `sender`: one that was not pushed is settled and never will be; one that was is announced
   * to its holder; one that has not arrived yet is cancelled when it does.
   */
  async cancel(sender: Sender, to: string, id: string): Promise<void> {
    const { store, leases, settler, now } = this.#ports;
    const key = cancelKey(to, sender.agent, id);
    this.#cancelled.add(key, now());
    const found = await store.find(to, sender.agent, id);
    if (!found || !this.#cancelled.take(key, now()) || found.outcome !== undefined) return;
    const lease = leases.get(to);
    const pushed = lease?.inFlight.get(found.seq);
    if (!lease || !pushed) {
      const { kind, senderAddress: address } = found;
      settler.cancel(found.seq, { inbox: to, id, from: { ...sender, address }, kind });
      return;
    }
    pushed.cancelled = true;
    lease.consumer.cancelRequest({ correlation_id: id, from: sender });
  }

  /** True if the message that was just stored had been cancelled before; then it has ended. */
  endIfCancelled(message: NewMessage, seq: number): boolean {
    if (this.#cancelled.isEmpty) return false;
    const key = cancelKey(message.inbox, message.sender, message.id);
    if (!this.#cancelled.take(key, this.#ports.now())) return false;
    this.#ports.settler.cancel(seq, tapped(message));
    return true;
  }

  /**
   * A token is gone: its stored requests are taken back, and whoever holds one without working on it is told. Those in
   * the hands of a handler run on.
   */
  async forbid(tokenId: string, why: string): Promise<void> {
    const { store, commits, settler, leases } = this.#ports;
    await commits.written();
    for (const stored of await store.sentWith(tokenId, maxForbidden)) {
      const { inbox, seq } = stored;
      const lease = leases.get(inbox);
      const pushed = lease?.inFlight.get(seq);
      if (pushed?.working) continue;
      const request = givenUp(stored);
      settler.giveUp(seq, request, { outcome: 'cancelled', reason: 'forbidden', detail: why });
      if (!lease || !pushed) continue;
      pushed.ended = true;
      lease.consumer.cancelRequest({ correlation_id: request.id, from: request.from });
    }
    await commits.flushed();
  }
}

function cancelKey(to: string, sender: string, id: string): string {
  return `${to}\n${sender}\n${id}`;
}
