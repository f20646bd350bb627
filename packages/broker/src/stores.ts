import { existsSync } from 'node:fs';
import {
  type AuditEvent,
  type AuditLog,
  type Damage,
  openSqliteAuditLog,
  openSqliteInboxStore,
  openSqliteTokenStore,
} from '@signalbox/store';
import { lockDataDirectory, refuseAbsent } from '@signalbox/store/internal';
import { auditEvent } from './audit-event.ts';
import { brokerFiles } from './broker-files.ts';
import type { BrokerSettings } from './broker-options.ts';
import { alone } from './cluster/alone.ts';
import type { Stores } from './stores-elsewhere.ts';

/**
 * Locks the data directory and opens the stores in it. Each is added to `opened`, which closes them. Throws `SignalboxError`
 * `data_directory_locked` if another broker runs on the directory.
 */
export async function openStores(
  settings: BrokerSettings,
  opened: AsyncDisposableStack,
  isPrivileged: (agent: string) => boolean,
): Promise<Stores & { now?: () => number }> {
  const { dataDir, madeLater, durability, limits, keepBodies, acceptLoss, now, monotonic, log } = settings;
  opened.use(await lockDataDirectory(dataDir));
  const files = brokerFiles(dataDir);
  const { deadLetters: dead, settled, audit: auditBytes, ...caps } = limits.forAll;
  const deadLetters = {
    maxCount: dead.messages,
    maxBytes: dead.bytes,
    maxCountPerAgent: dead.messagesPerAgent,
    maxBytesPerAgent: dead.bytesPerAgent,
    maxAgeMs: dead.ageMs,
  };
  const maxBytes = {
    change: auditBytes.changeBytes,
    call: auditBytes.callBytes,
    read: auditBytes.readBytes,
    connect: auditBytes.connectBytes,
    refusal: auditBytes.refusalBytes,
    loss: auditBytes.lossBytes,
  };
  const rules = {
    caps,
    isPrivileged,
    deadLetters,
    keepBodies,
    retentionMs: settled.ageMs,
    retentionBytes: settled.bytes,
    dedupeWindowMs: settled.repeatMs,
    now,
    monotonic,
  };
  const onAuditError = (error: unknown): void => log({ level: 'error', event: 'audit_failed', error });
  if (settings.stores) {
    if (existsSync(files.messages))
      log({
        level: 'warn',
        event: 'files_unused',
        message: `${files.messages} and the other databases there are not used: broker.store names a database`,
      });
    return opened.use(await settings.stores.open({ ...rules, auditBytes: maxBytes, onAuditError }));
  }
  const found: Damage[] = [];
  let audit: AuditLog | undefined;
  const onDamage = (damage: Damage): void => {
    const { what, detail } = damage;
    log({ level: 'error', event: 'damage_found', what, detail });
    if (audit) audit.record(auditEvent('damage_found', { at: now(), detail }));
    else found.push(damage);
  };
  // Each file is made only when the earlier ones exist, so a missing file beside a later one was lost.
  const later = [files.audit, files.operatorToken, ...madeLater];
  const afterMessages = [files.tokens, ...later];
  const absent = refuseAbsent(
    [
      { file: files.messages, madeLater: afterMessages },
      { file: files.tokens, madeLater: later },
    ],
    acceptLoss,
  );
  if (absent !== undefined) onDamage({ what: 'log', detail: `the loss was accepted: ${absent}` });
  const inboxes = opened.use(
    await openSqliteInboxStore({
      file: files.messages,
      durability,
      ...rules,
      wasInUse: afterMessages.some((file) => existsSync(file)),
      acceptLoss,
      onDamage,
    }),
  );
  const record = (event: AuditEvent): void => audit?.record(event);
  const tokens = opened.use(await openSqliteTokenStore({ file: files.tokens, onDamage, record }));
  if (!existsSync(files.audit) && later.some((file) => existsSync(file)))
    onDamage({ what: 'audit', detail: `${files.audit} is gone; a new audit log was begun` });
  audit = opened.use(
    await openSqliteAuditLog({ file: files.audit, maxBytes, onDamage, onError: onAuditError, now }),
  );
  for (const { detail } of found) audit.record(auditEvent('damage_found', { at: now(), detail }));
  return { inboxes, cluster: alone(inboxes), tokens, audit };
}
