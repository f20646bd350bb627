import { StoreError, type StoreErrorCode } from '@signalbox/store/rules';
import pg from 'pg';
import { ConnectionLost } from './connection.ts';
import type { ServerFacts } from './server-facts.ts';

const oldestVersion = 14;

/** A database of a server. */
export interface Target {
  host: string;
  port: number;
  database?: string | undefined;
}

/** Names a database in errors, without its password. */
export function placeOf(targets: readonly Target[]): string {
  const hosts = targets.map(({ host, port }) => (host.startsWith('/') ? host : `${host}:${port}`));
  return `PostgreSQL at ${hosts.join(' or ')}, database '${targets[0]?.database ?? ''}'`;
}

/** Converts an error at the database `place` to the error of a store. */
export function toStoreError(thrown: unknown, place: string): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const code = storeErrorCode(thrown);
  const sqlState = thrown instanceof pg.DatabaseError ? thrown.code : undefined;
  const advice = isGivenUp(thrown) ? gaveUpAdvice : adviceFor(code, sqlState);
  return new StoreError(code, `${place}: ${text}.${advice}`, thrown);
}

/** Returns the error for a server that can't be used. */
export function refusalOf(
  { version, isStandby }: Pick<ServerFacts, 'version' | 'isStandby'>,
  place: string,
): StoreError | undefined {
  const major = Math.floor(version / 10_000);
  if (major < oldestVersion)
    return new StoreError(
      'store_refused',
      `${place}: it is version ${major}, and Signalbox needs PostgreSQL ${oldestVersion} or newer. Use a newer server.`,
    );
  if (!isStandby) return undefined;
  const what = `${place} is a standby, which takes no changes. Name the primary in broker.store.postgres.`;
  return new StoreError('store_unwritable', what);
}

/** Returns the error for an incarnation that may change nothing any more. */
export function incarnationOver(place: string): StoreError {
  return new StoreError(
    'store_in_use',
    `${place}: another broker has taken it over, or may have taken its inboxes, because this one was not heard of for too long; or the database was restored to an earlier moment. This one changes nothing any more; start it again.`,
    undefined,
    { isFinal: true },
  );
}

/** Tells whether the server gave up a transaction that can simply be run again. */
export function isConflict(thrown: unknown): boolean {
  return thrown instanceof pg.DatabaseError && (thrown.code === '40001' || thrown.code === '40P01');
}

/** Tells whether a server refused a statement because it is a standby. */
export function isStandbyError(thrown: unknown): boolean {
  return thrown instanceof pg.DatabaseError && thrown.code === '25006';
}

/** Tells whether somebody else kept a lock for too long. */
export function isLockTimeout(thrown: unknown): boolean {
  return thrown instanceof pg.DatabaseError && thrown.code === '55P03';
}

/** Tells whether a table was missing, for example because it was dropped: then a store reads again which tables there are. */
export function isGoneTable(thrown: unknown): boolean {
  const cause = thrown instanceof StoreError ? thrown.cause : thrown;
  return cause instanceof pg.DatabaseError && cause.code === '42P01';
}

/** Tells whether a guard refused its transaction: see {@link Transaction.guard}. */
export function isRefusedGuard(thrown: unknown): boolean {
  const cause = thrown instanceof StoreError ? thrown.cause : thrown;
  return cause instanceof pg.DatabaseError && cause.code === '22012';
}

/** The codes of a full disk, of a lack of memory for a shared table, and of a quota of the system. */
const noRoomCodes = new Set(['53100', '53000', '53400']);

/** The codes of a wrong password or user, a missing database, lacking rights, a lack of TLS, and other tables. */
const refusedCodes = new Set(['28000', '28P01', '3D000', '42501', '0A000', '42P07']);

/** The codes of a lock that was not free in time, and of a statement that was cancelled or took too long. */
const gaveUpCodes = new Set(['55P03', '57014']);

/** Tells whether the server gave up a statement that may succeed later. The statement has changed nothing. */
function isGivenUp(thrown: unknown): boolean {
  return isConflict(thrown) || (thrown instanceof pg.DatabaseError && gaveUpCodes.has(thrown.code ?? ''));
}

function storeErrorCode(thrown: unknown): StoreErrorCode {
  if (thrown instanceof ConnectionLost || isGivenUp(thrown)) return 'store_unavailable';
  if (!(thrown instanceof pg.DatabaseError)) return 'store_failed';
  const code = thrown.code ?? '';
  if (noRoomCodes.has(code)) return 'store_full';
  if (refusedCodes.has(code)) return 'store_refused';
  if (isStandbyError(thrown)) return 'store_unwritable';
  return code === 'XX001' || code === 'XX002' ? 'store_corrupt' : 'store_failed';
}

function adviceFor(code: StoreErrorCode, sqlState: string | undefined): string {
  switch (code) {
    case 'store_unavailable':
      return ' Nothing is stored until it can be reached again: start the server, or correct the address in broker.store.postgres.';
    case 'store_full':
      return ' Make room on the disk of the server.';
    case 'store_unwritable':
      return ' It takes no changes, as a standby does: name the primary in broker.store.postgres.';
    case 'store_corrupt':
      return ' The server found damage in its files: restore them from a backup or a standby.';
    case 'store_refused':
      return (
        refusedAdvice[sqlState ?? ''] ??
        ' Correct broker.store.postgres, or what the server allows this user.'
      );
    default:
      return '';
  }
}

const gaveUpAdvice =
  ' Nothing was changed, and it may be tried again. If it happens often, see which other programs use the schema, and which timeouts the server sets for this user.';

const wrongUser =
  ' Correct the user and the password in broker.store.postgres, or let the user in with pg_hba.conf.';

const refusedAdvice: Readonly<Record<string, string>> = {
  '28000': wrongUser,
  '28P01': wrongUser,
  '3D000': ' Make the database with: createdb NAME; or name another one in broker.store.postgres.',
  '42P07': ' The schema has tables of another program: name another one in broker.store.schema.',
  '42501': ' The user must own the schema, or be allowed to make it: GRANT CREATE ON DATABASE name TO user.',
};
