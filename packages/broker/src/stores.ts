import {
  type AuditLog,
  type InboxStore,
  lockDataDirectory,
  openSqliteAuditLog,
  openSqliteInboxStore,
  openSqliteTokenStore,
  type TokenStore,
} from '@signalbox/store';
import { brokerFiles } from './broker-files.ts';
import type { BrokerSettings } from './broker-options.ts';

/** The places in which a broker keeps what must outlive it. */
export interface Stores {
  inboxes: InboxStore;
  tokens: TokenStore;
  audit: AuditLog;
}

/**
 * Locks the data directory and opens the stores in it. Each is added to `opened`, which closes them. Throws `SignalboxError`
 * `data_directory_locked` if another broker runs on the directory.
 */
export async function openStores(
  { dataDir, durability, limits, now, monotonic }: BrokerSettings,
  opened: AsyncDisposableStack,
): Promise<Stores> {
  opened.use(await lockDataDirectory(dataDir));
  const files = brokerFiles(dataDir);
  const { inbox, senderToRecipient, store } = limits.forAll;
  const caps = {
    maxInboxMessages: inbox.messages,
    maxInboxBytes: inbox.bytes,
    maxPendingPerSender: senderToRecipient.messages,
    maxTotalBytes: store.bytes,
  };
  return {
    inboxes: opened.use(
      await openSqliteInboxStore({ file: files.messages, durability, caps, now, monotonic }),
    ),
    tokens: opened.use(await openSqliteTokenStore({ file: files.tokens })),
    audit: opened.use(await openSqliteAuditLog({ file: files.audit })),
  };
}
