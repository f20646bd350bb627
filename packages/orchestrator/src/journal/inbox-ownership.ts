import type { BrokerClient, Log, ServeOptions } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import type { Journal } from './journal.ts';

/** Who else may have worked on what waits in our inbox. */
export interface InboxHistory {
  /** For `client.serve`: they tell the journal of each subscription, before any of its messages is handled. */
  readonly serveOptions: Pick<ServeOptions, 'journalId' | 'onSubscribing' | 'onSubscribed'>;
  /** Whether a request that our journal does not know may have been started by somebody with another journal. */
  mayHaveStartedElsewhere(seq: number | undefined): boolean;
}

/** Without a journal nothing is known of anybody, and nothing is held to have started. */
export function inboxHistory(client: BrokerClient, journal: Journal | undefined, log: Log): InboxHistory {
  if (!journal) return { serveOptions: {}, mayHaveStartedElsewhere: () => false };
  const inbox = () => `${client.welcome.broker_id} ${client.address}`;
  // The journal takes the news in even when it cannot write it down; calls that must be written down fail by themselves.
  const tell = (news: () => void) => {
    try {
      news();
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
