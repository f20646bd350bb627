import type { BrokerClient, Log, ServeOptions } from '@signalbox/client';
import { type JournalBinding, messageOf } from '@signalbox/protocol';
import type { Fault } from '@signalbox/serving';
import type { Journal } from '@signalbox/store/journal';

/**
 * Knows which requests in the inbox are foreign to the journal: an orchestrator with another journal, or with a newer state of this one,
 * may have handled them. A foreign request may have been started although this journal has no entry for it.
 */
export interface InboxOwnership {
  /** Options for `client.serve`, by which the inbox is bound to the journal before any message is handled. */
  readonly serveOptions: Pick<ServeOptions, 'claimJournal' | 'onSubscribed'>;
  /** Returns the name of the broker and the inbox, for the journal. */
  readonly inbox: () => string;
  /**
   * Tells whether an orchestrator with another journal may have started the request with this sequence number, or one that may have been
   * started on a lane of this epoch.
   */
  mayHaveStartedElsewhere(seq: number | undefined, epoch?: string): boolean;
}

/** Tracks the ownership of the client's inbox. Without a journal, every request counts as never started. */
export function trackInboxOwnership(
  client: BrokerClient,
  journal: Journal | undefined,
  { log, fault }: { log: Log; fault: Fault },
): InboxOwnership {
  const inbox = () => `${client.welcome.broker_id} ${client.address}`;
  if (!journal) return { serveOptions: {}, inbox, mayHaveStartedElsewhere: () => false };
  const onFailed = (error: unknown) => log({ event: 'journal_failed', reason: messageOf(error) });
  let foreignUpTo = 0;
  let present: string | undefined;
  const bound = ({ generation, foreign_up_to: upTo, epoch }: JournalBinding): void => {
    present = epoch;
    if (upTo > foreignUpTo) log({ event: 'other_journal_before', upTo });
    foreignUpTo = upTo;
    try {
      journal.bound(inbox(), generation);
      fault('orchestrator.journal.bound');
    } catch (thrown) {
      // The generation on disk is still this one, so the journal stays the same one to the broker.
      onFailed(thrown);
    }
  };
  return {
    serveOptions: {
      claimJournal: () => {
        const claim = journal.claim(inbox(), onFailed);
        fault('orchestrator.journal.claimed');
        return claim;
      },
      onSubscribed: (frame) => frame.journal && bound(frame.journal),
    },
    inbox,
    mayHaveStartedElsewhere: (seq, epoch) =>
      (seq !== undefined && seq <= foreignUpTo) || (epoch !== undefined && epoch !== present),
  };
}
