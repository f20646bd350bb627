import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { StoreError } from '@signalbox/store/rules';
import pg from 'pg';
import { type TlsSettings, tlsSettings, withoutTls } from '../settings/tls-settings.ts';

/** The time in which a server must accept a connection, in milliseconds. */
const connectTimeoutMs = 5000;
/** The authorities that PostgreSQL's own programs trust if an address names none, below the home folder. */
const rootFile = '.postgresql/root.crt';
/** Matches each certificate of a file, also one whose end is missing. */
const pemCertificates = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*(?:-----END[^\n]*)?/g;

/** A way to connect: with TLS, or without it. */
type Way = ConnectionOptions | false;

/** Makes a client that has no connection yet. */
export function newClient(server: string, config: pg.ClientConfig = {}): pg.Client {
  return new pg.Client({
    keepAlive: true,
    application_name: 'signalbox',
    connectionTimeoutMillis: connectTimeoutMs,
    // Without this, the client would encrypt by rules of its own.
    ssl: false,
    ...config,
    connectionString: withoutTls(server).address,
  });
}

/**
 * Reads everything that an address names for TLS, as a connection does. Resolves with the reason why it can't be used, which names the
 * parameter; with `undefined` if it can.
 */
export async function tlsProblem(address: string): Promise<string | undefined> {
  const settings = tlsSettings(withoutTls(address).query, process.env.PGSSLMODE);
  if ('problem' in settings) return settings.problem;
  try {
    // A file that is named is read in every mode. Authorities that are not named are a matter of the user who runs the broker.
    await tlsOptions({ ...settings, mode: 'require' });
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/**
 * Connects to a server. `sslmode` in its address means what it means to PostgreSQL's own programs: `allow` and `prefer` try the other way
 * if the server refuses the first one. Rejects with a `StoreError` if the parameters for TLS can't be used.
 */
export async function connectClient(server: string, config: pg.ClientConfig = {}): Promise<pg.Client> {
  const settings = tlsSettings(withoutTls(server).query, process.env.PGSSLMODE);
  if ('problem' in settings) throw refused(settings.problem);
  // A Unix socket is never encrypted.
  const isSocket = newClient(server).host.startsWith('/');
  const [first, second] = isSocket
    ? [false as const]
    : await waysOf(settings).catch((thrown) => {
        throw refused(messageOf(thrown));
      });
  try {
    return await connectBy(server, config, first);
  } catch (thrown) {
    if (second === undefined || isUnreachable(thrown)) throw named(thrown, first, settings);
    try {
      return await connectBy(server, config, second);
    } catch (again) {
      // The server takes only the first way, and refused that for a reason of its own.
      throw isNotLetIn(again) ? named(thrown, first, settings) : named(again, second, settings);
    }
  }
}

async function connectBy(server: string, config: pg.ClientConfig, ssl: Way): Promise<pg.Client> {
  const client = newClient(server, { ...config, ssl });
  // An error before the connection exists must not end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (thrown) {
    void client.end().catch(() => {});
    throw thrown;
  }
}

/** Returns the ways to connect, in their order. Rejects with a text about the parameter that can't be used. */
async function waysOf(settings: TlsSettings): Promise<readonly [Way, Way?]> {
  const { mode } = settings;
  if (mode === 'disable') return [false];
  const tls = await tlsOptions(settings);
  if (mode === 'allow') return [false, tls];
  return mode === 'prefer' ? [tls, false] : [tls];
}

/** A certificate is checked in every mode if there are authorities to check it with. Only `verify-full` checks the name. */
async function tlsOptions({
  mode,
  sslrootcert,
  sslcert,
  sslkey,
  sslpassword,
}: TlsSettings): Promise<ConnectionOptions> {
  const own = {
    ...(sslcert !== undefined && { cert: await fileOf('sslcert', sslcert) }),
    ...(sslkey !== undefined && { key: await fileOf('sslkey', sslkey) }),
    ...(sslpassword !== undefined && { passphrase: sslpassword }),
  };
  const ca = sslrootcert === 'system' ? undefined : await authorities(sslrootcert);
  if (own.cert !== undefined || own.key !== undefined) checkPair(own);
  if (mode === 'verify-full') return { ...own, ...(ca && { ca }) };
  if (ca) return { ...own, ca, checkServerIdentity: () => undefined };
  if (mode === 'verify-ca')
    throw new Error(
      'sslmode=verify-ca needs to know the authority: name the file of its certificate with sslrootcert, or write sslmode=verify-full',
    );
  return { ...own, rejectUnauthorized: false };
}

/** Returns the certificates of the file that is named, or of the one in the home folder, if that exists. */
async function authorities(named: string | undefined): Promise<string | undefined> {
  if (named === undefined) return readFile(join(homedir(), rootFile), 'utf8').catch(() => undefined);
  const text = await fileOf('sslrootcert', named);
  // Node.js passes over what it can't read, and would then trust nobody.
  const certificates = text.match(pemCertificates) ?? [];
  if (certificates.length === 0)
    throw new Error(`the file of sslrootcert, ${named}, has no certificate in PEM`);
  for (const pem of certificates) {
    try {
      new X509Certificate(pem);
    } catch (thrown) {
      throw new Error(`a certificate in the file of sslrootcert, ${named}, is damaged: ${messageOf(thrown)}`);
    }
  }
  return text;
}

function checkPair(own: Pick<ConnectionOptions, 'cert' | 'key' | 'passphrase'>): void {
  try {
    createSecureContext(own);
  } catch (thrown) {
    throw new Error(`the files of sslcert and sslkey can't be used together: ${messageOf(thrown)}`);
  }
}

async function fileOf(name: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    throw new Error(`the file of ${name} can't be read: ${messageOf(thrown)}`);
  }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function refused(problem: string): StoreError {
  return new StoreError(
    'store_refused',
    `the address in broker.store.postgres or broker.store.direct can't be used: ${problem}.`,
  );
}

/** Tells whether the server did not answer at all. */
function isUnreachable(thrown: unknown): boolean {
  return (
    thrown instanceof Error && 'syscall' in thrown && /^(connect|getaddrinfo)$/.test(String(thrown.syscall))
  );
}

/** Tells whether `pg_hba.conf` has no line for a connection of this kind. */
function isNotLetIn(thrown: unknown): boolean {
  return thrown instanceof pg.DatabaseError && thrown.code === '28000';
}

/** Returns the error to throw, which names the mode if TLS failed. */
function named(thrown: unknown, way: Way, { mode }: TlsSettings): unknown {
  if (way === false || thrown instanceof pg.DatabaseError || isUnreachable(thrown)) return thrown;
  return new Error(`TLS with sslmode=${mode} failed: ${messageOf(thrown)}`, { cause: thrown });
}
