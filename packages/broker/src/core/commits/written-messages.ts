import { isConfiguredSender, type Sender } from '@signalbox/protocol';
import type { NewMessage } from '@signalbox/store';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Cancellations } from '../endings/cancellations.ts';
import { headerOf, headerOfNew, type MessageHeader } from '../message-header.ts';
import type { Meter } from '../meter.ts';
import type { DeliverResult, Producer } from '../producer.ts';
import type { Releases } from '../scheduled/releases.ts';
import type { Discards } from '../settling/discards.ts';
import type { Settler } from '../settling/settler.ts';
import type { Tail } from '../tail.ts';
import type { ExpiryClock } from '../time/expiry-clock.ts';
import type { WrittenListener } from './commit-queue.ts';

/** The dependencies of {@link WrittenMessages}. */
export interface WrittenMessagesDeps {
  cancellations: Cancellations;
  discards: Discards;
  dispatcher: Dispatcher;
  releases: Releases;
  settler: Settler;
  time: ExpiryClock;
  /** Called if background work fails. */
  onError: (error: unknown) => void;
  tail: Tail;
  meter: Meter;
}

/** Decides what follows when a commit is written: who is handed its messages, and which requests they settle. */
export class WrittenMessages implements WrittenListener {
  readonly #deps: WrittenMessagesDeps;

  constructor(deps: WrittenMessagesDeps) {
    this.#deps = deps;
  }

  /** Takes a message of a commit, with its result. */
  message(message: NewMessage, { sender: from }: Producer, result: DeliverResult): void {
    const { settles } = message;
    if (settles !== undefined && hasSettled(result)) this.#settledByReply(settles);
    if (result.result === 'stored') {
      if (result.request) this.#settledByReply(result.request, headerOf(result.request));
      if (message.release !== undefined) this.#released(message, from, result);
      else if (result.copies) this.#storedCopies(message, result.copies);
      // The thread of a reply is that of its request.
      else if (result.thread !== undefined) this.#stored({ ...message, thread: result.thread }, from, result);
      else this.#stored(message, from, result);
    } else if (result.result === 'scheduled') this.#scheduled(message);
    else if (result.result === 'already_answered' && result.acked) this.#settledByReply(result.acked);
  }

  /** Takes the inbox of a notice. */
  notice(inbox: string): void {
    if (isConfiguredSender(inbox)) this.#deps.discards.all(inbox).catch(this.#deps.onError);
    else this.#deps.dispatcher.wake(inbox);
  }

  #scheduled(message: NewMessage): void {
    const { tail } = this.#deps;
    const { createdAt: due_at } = message;
    if (tail.isOn) tail.report({ what: 'scheduled', due_at }, undefined, headerOfNew(message));
    this.#deps.releases.scheduled(due_at);
    this.#deps.cancellations.cancelScheduledEarly(message);
  }

  /** Handles a released message like one that was just sent, unless it has lost its body: reading it gives it up. */
  #released(message: NewMessage, from: Sender, stored: Stored): void {
    const { meter, time } = this.#deps;
    meter.released(time.now() - message.createdAt);
    if (!stored.isDamaged) this.#stored(message, from, stored);
    else this.#deps.dispatcher.wake(message.inbox);
  }

  /** `unheld` is the header of the message, if it may be one that no consumer has. */
  #settledByReply({ inbox, seq }: { inbox: string; seq: number }, unheld?: MessageHeader): void {
    const request = this.#deps.dispatcher.settledByReply(inbox, seq) ?? unheld;
    if (request) this.#deps.settler.ackedByReply(seq, request);
  }

  #stored(message: NewMessage, from: Sender, { seq, after }: Stored): void {
    const { tail, meter } = this.#deps;
    meter.stored(message.kind);
    if (tail.isOn) tail.report({ what: 'stored' }, seq, headerOfNew(message));
    if (isConfiguredSender(message.inbox)) this.#deps.settler.discard(seq, headerOfNew(message));
    else if (!this.#deps.cancellations.settleIfCancelled(message, seq))
      this.#deps.dispatcher.stored(message, from, seq, after);
  }

  #storedCopies(message: NewMessage, copies: readonly { inbox: string; seq: number }[]): void {
    const { tail, meter } = this.#deps;
    for (const { inbox, seq } of copies) {
      meter.stored(message.kind);
      if (tail.isOn) tail.report({ what: 'stored' }, seq, headerOfNew({ ...message, inbox }));
      this.#deps.dispatcher.wake(inbox);
    }
  }
}

type Stored = Extract<DeliverResult, { result: 'stored' }>;

/** The results with which a message settles the one that it names, whether it was stored or not. */
const settlingResults = new Set<DeliverResult['result']>([
  'stored',
  'duplicate',
  'id_conflict',
  'already_answered',
]);

function hasSettled({ result }: DeliverResult): boolean {
  return settlingResults.has(result);
}
