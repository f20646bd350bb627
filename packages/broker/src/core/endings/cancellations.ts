import type { Sender } from '@signalbox/protocol';
import type { InboxStore, NewMessage } from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { LeaseTable } from '../leases/lease-table.ts';
import { headerOf, headerOfNew } from '../message-header.ts';
import type { Settler } from '../settling/settler.ts';
import { EarlyCancels } from './early-cancels.ts';

/** Most requests of one token that are taken back when it goes: more than its quotas let it have. */
const maxForbidden = 10_000;

export interface CancellationsDeps {
  store: InboxStore;
  commits: CommitQueue;
  leases: LeaseTable;
  settler: Settler;
  now: () => number;
}

/** Takes requests back: because their sender cancels them, or because its token is gone. */
export class Cancellations {
  readonly #deps: CancellationsDeps;
  readonly #early = new EarlyCancels({ lifeMs: 60_000, limit: 10_000 });

  constructor(deps: CancellationsDeps) {
    this.#deps = deps;
  }

  /**
   * Cancels a request of `sender`. One that was not pushed is settled, and never will be pushed; one that was is
   * announced to its holder; one that has not arrived yet is cancelled when it does.
   */
  async cancel(sender: Sender, to: string, id: string): Promise<void> {
    const { store, leases, settler, now } = this.#deps;
    const key = cancelKey(to, sender.agent, id);
    this.#early.add(key, now());
    const found = await store.find(to, sender.agent, id);
    if (!found || !this.#early.take(key, now()) || found.outcome !== undefined) return;
    const lease = leases.at(to);
    const pushed = lease?.inFlight.get(found.seq);
    if (!lease || !pushed) {
      const { kind, senderAddress: address } = found;
      settler.cancel(found.seq, { inbox: to, id, from: { ...sender, address }, kind });
      return;
    }
    pushed.cancelled = true;
    lease.consumer.send({ type: 'cancel', correlation_id: id, from: sender });
  }

  /** True if the message that was just stored had been cancelled before. It has ended then. */
  endIfCancelled(message: NewMessage, seq: number): boolean {
    if (this.#early.isEmpty) return false;
    const key = cancelKey(message.inbox, message.sender, message.id);
    if (!this.#early.take(key, this.#deps.now())) return false;
    this.#deps.settler.cancel(seq, headerOfNew(message));
    return true;
  }

  /**
   * Takes back the stored requests of a token that is gone, and tells each holder of one that it doesn't work on yet.
   * Requests in the hands of a handler run on.
   */
  async cancelSentWith(tokenId: string, why: string): Promise<void> {
    const { store, commits, settler, leases } = this.#deps;
    await commits.written();
    for (const stored of await store.sentWith(tokenId, maxForbidden)) {
      const { inbox, seq } = stored;
      const lease = leases.at(inbox);
      const pushed = lease?.inFlight.get(seq);
      if (pushed?.working) continue;
      const request = headerOf(stored);
      settler.giveUp(seq, request, { outcome: 'cancelled', reason: 'forbidden', detail: why });
      if (!lease || !pushed) continue;
      pushed.ended = true;
      lease.consumer.send({ type: 'cancel', correlation_id: request.id, from: request.from });
    }
    await commits.flushed();
  }
}

function cancelKey(to: string, sender: string, id: string): string {
  return `${to}\n${sender}\n${id}`;
}
