import { existsSync } from 'node:fs';
import {
  type AuditLog,
  type Damage,
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
  { dataDir, durability, limits, acceptLoss, now, monotonic, log }: BrokerSettings,
  opened: AsyncDisposableStack,
  isPrivileged: (agent: string) => boolean,
): Promise<Stores> {
  opened.use(await lockDataDirectory(dataDir));
  const files = brokerFiles(dataDir);
  const { deadLetters: dead, ...caps } = limits.forAll;
  const deadLetters = {
    maxCount: dead.messages,
    maxBytes: dead.bytes,
    maxCountPerAgent: dead.messagesPerAgent,
    maxBytesPerAgent: dead.bytesPerAgent,
  };
  const audit = opened.use(await openSqliteAuditLog({ file: files.audit }));
  const onDamage = ({ what, detail }: Damage): void => {
    log({ level: 'error', event: 'damage_found', what, detail });
    audit.record({ at: now(), code: 'damage_found', detail });
  };
  // The operator's token is written last when a data directory is made, so that the databases are there then.
  const wasInUse = existsSync(files.operatorToken);
  const found = { isExpected: wasInUse, acceptLoss, onDamage };
  const inboxes = {
    ...found,
    file: files.messages,
    durability,
    caps,
    isPrivileged,
    deadLetters,
    now,
    monotonic,
  };
  return {
    inboxes: opened.use(await openSqliteInboxStore(inboxes)),
    tokens: opened.use(await openSqliteTokenStore({ ...found, file: files.tokens })),
    audit,
  };
}
