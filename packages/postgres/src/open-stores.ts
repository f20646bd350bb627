import type { AuditLog, ClusterPort, InboxStore, TokenStore } from '@signalbox/store';
import { StoreError } from '@signalbox/store/rules';
import { openPostgresAuditLog, type PostgresAuditLogOptions } from './audit-log.ts';
import type { LinksOptions } from './cluster/links.ts';
import { PostgresCluster } from './cluster/postgres-cluster.ts';
import type { PostgresDatabaseOptions } from './database/database.ts';
import { restoredEvent } from './declare-restored.ts';
import { openPostgresInboxStore, type PostgresInboxStoreOptions } from './inbox-store/inbox-store.ts';
import { openPostgresDatabase } from './open-database.ts';
import { brokerNames } from './settings/names.ts';
import { openPostgresTokenStore } from './token-store.ts';

/** The stores of a broker in a schema, and the brokers that share them. */
export interface PostgresStores extends AsyncDisposable {
  inboxes: InboxStore;
  tokens: TokenStore;
  audit: AuditLog;
  cluster: ClusterPort;
  /** Returns the time on which the decisions of the stores depend, in epoch milliseconds. */
  now: () => number;
}

/** The options of a broker that shares a schema with others. */
export interface PostgresStoresOptions
  extends PostgresDatabaseOptions,
    Omit<PostgresInboxStoreOptions, 'database' | 'cluster' | 'now' | 'monotonic'> {
  /**
   * The address at which other brokers reach this one directly, port 0 for any free one; `false` for none. Default: any port of loopback,
   * for brokers of the same machine.
   */
  link?: LinksOptions['listen'] | undefined;
  /** The bytes of each kind of events in the audit log. */
  auditBytes?: PostgresAuditLogOptions['maxBytes'];
  /** Called when the audit log could not be written. */
  onAuditError?: PostgresAuditLogOptions['onError'];
}

/** Opens all stores of a broker in a schema that it shares with others. Rejects as {@link openPostgresDatabase} does. */
export async function openPostgresStores({
  auditBytes: maxBytes,
  onAuditError: onError,
  ...options
}: PostgresStoresOptions): Promise<PostgresStores> {
  const { monotonic, broker, link: listen = { host: '127.0.0.1', port: 0 }, ...rules } = options;
  if (!brokerNames.pattern.test(broker))
    throw new StoreError('store_refused', `broker.store.name ${brokerNames.problem}. It is '${broker}'.`);
  await using opened = new AsyncDisposableStack();
  let restored: string | undefined;
  const mark = options.mark && {
    ...options.mark,
    onRestored: (reason: string) => {
      restored = reason;
      options.mark?.onRestored(reason);
    },
  };
  const database = opened.use(await openPostgresDatabase({ ...options, mark }));
  const { now = database.now } = options;
  const clocks = { now, ...(monotonic && { monotonic }) };
  const cluster = opened.use(await PostgresCluster.open(database, { broker, listen, monotonic }));
  const inboxes = await openPostgresInboxStore({ ...rules, ...clocks, database, cluster });
  const audit = opened.use(
    await openPostgresAuditLog({
      database,
      ...(maxBytes && { maxBytes }),
      ...(onError && { onError }),
      now,
    }),
  );
  const tokens = openPostgresTokenStore(database, audit);
  if (restored !== undefined) audit.record(restoredEvent(now(), restored));
  const resources = opened.move();
  return {
    inboxes,
    tokens,
    audit,
    cluster: cluster.port(),
    now,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
