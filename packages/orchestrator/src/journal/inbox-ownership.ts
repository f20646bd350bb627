import type { BrokerClient, Log, ServeOptions } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import type { Journal } from './journal.ts';

/**
 * Knows which requests in the inbox an orchestrator with another journal may have handled. Such a request may have been
 * started although this journal has no entry for it.
 */
export interface InboxOwnership {
  /** Options for `client.serve`, by which the journal learns of each subscription before any message is handled. */
  readonly serveOptions: Pick<ServeOptions, 'journalId' | 'onSubscribing' | 'onSubscribed'>;
  /** Whether an orchestrator with another journal may have started the request with this sequence number. */
  mayHaveStartedElsewhere(seq: number | undefined): boolean;
}

/** Tracks the ownership of the client's inbox. Without a journal, every request counts as never started. */
export function trackInboxOwnership(
  client: BrokerClient,
  journal: Journal | undefined,
  log: Log,
): InboxOwnership {
  if (!journal) return { serveOptions: {}, mayHaveStartedElsewhere: () => false };
  const inbox = () => `${client.welcome.broker_id} ${client.address}`;
  // The journal knows what it is told even if it cannot write it; a call that must be written then fails by itself.
  const tell = (write: () => void) => {
    try {
      write();
    } catch (thrown) {
      log({ event: 'journal_failed', reason: messageOf(thrown) });
    }
  };
  return {
    serveOptions: {
      journalId: journal.id,
      onSubscribing: () => tell(() => journal.subscribing(inbox())),
      onSubscribed: ({ same_journal, head_seq }) =>
        tell(() => {
          if (!same_journal) log({ event: 'other_journal_before', headSeq: head_seq });
          journal.subscribed(inbox(), { sameJournal: same_journal, headSeq: head_seq });
        }),
    },
    mayHaveStartedElsewhere: (seq) => seq !== undefined && journal.isForeign(inbox(), seq),
  };
}
