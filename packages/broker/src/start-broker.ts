import {
  defaultLimits,
  type Fault,
  isLoopback,
  type Limits,
  noFault,
  SignalboxError,
} from '@signalbox/protocol';
import {
  type InboxStore,
  lockDataDirectory,
  openSqliteAuditLog,
  openSqliteInboxStore,
  openSqliteTokenStore,
  type TokenRecord,
} from '@signalbox/store';
import { customAlphabet, nanoid } from 'nanoid';
import { KnownAgents } from './auth/known-agents.ts';
import type { RolePolicy } from './auth/role-policy.ts';
import { TokenRegistry } from './auth/token-registry.ts';
import { refuseToken, type TokenRequest } from './auth/token-rules.ts';
import { brokerFiles, readText, removeFile, writePrivate } from './broker-files.ts';
import { Delivery } from './core/delivery.ts';
import type { SessionContext } from './frames/context.ts';
import { RateLimit } from './frames/rate-limit.ts';
import { SessionTable } from './frames/session-table.ts';
import { Taps } from './frames/taps.ts';
import { Housekeeping } from './housekeeping.ts';
import { Listener } from './listener/listener.ts';
import type { Log } from './log.ts';
import { repeat } from './repeat.ts';
import { Flusher } from './session/flusher.ts';

export interface BrokerOptions {
  /** Created 0700 if missing. One broker at a time. */
  dataDir: string;
  /** Default 127.0.0.1. Another machine's network only with `insecure`: there is no encryption yet. */
  host?: string;
  /** Default 7420; 0 for any free port. */
  port?: number;
  /** `full` (default): a receipt means fsynced. `process`: written; survives the death of the process, not of the machine. */
  durability?: 'full' | 'process';
  limits?: Partial<Limits>;
  /** Default 15 s; a connection is dead after two missed. */
  heartbeatMs?: number;
  /** Default 5 s. */
  helloTimeoutMs?: number;
  /** What each role may send, where that differs from the default of a worker. */
  policies?: Readonly<Record<string, RolePolicy>>;
  insecure?: boolean;
  /** Called at the named points at which tests let a process die. */
  fault?: Fault;
  now?: () => number;
  log?: Log;
}

/** A running broker. Dispose or `stop()` it: clients are told, what waits is committed, files are closed. */
export interface Broker extends AsyncDisposable {
  /** `ws://host:port` */
  readonly url: string;
  readonly port: number;
  readonly brokerId: string;
  /** File with the operator's token, 0600. */
  readonly operatorTokenFile: string;
  /** Issues a token in this process; throws `SignalboxError` where the rules refuse it. */
  issueToken(request: TokenRequest): Promise<{ id: string; token: string }>;
  /** Resolves, with why, if the disk failed under messages that were handed out; then the broker stops by itself. */
  readonly failed: Promise<unknown>;
  stop(): Promise<void>;
}

const maxDeliver = 5;
const reconnectAfterMs = 100;
const suggestionsPerSecond = 20;
/** How often deadlines are looked at. */
const tickMs = 250;

/** People pass these ids to commands, where a leading dash would make them options. */
const newTokenId = customAlphabet('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 14);

/**
 * Starts a broker on a data directory. Throws `data_directory_locked` if another one runs there (naming its pid),
 * `insecure_listen` for an address beyond loopback without `insecure`.
 */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const host = options.host ?? '127.0.0.1';
  if (!isLoopback(host) && !options.insecure) {
    throw new SignalboxError(
      'insecure_listen',
      `listening on '${host}' would send tokens and messages unencrypted over the network; use 127.0.0.1, or accept it with --insecure`,
    );
  }
  const now = options.now ?? Date.now;
  const log = options.log ?? (() => {});
  const files = brokerFiles(options.dataDir);
  const limits = { ...defaultLimits, ...options.limits };
  await using opened = new AsyncDisposableStack();
  opened.use(await lockDataDirectory(options.dataDir));
  const store = opened.use(await openStore(files.messages, options, limits, now));
  const tokenStore = opened.use(await openSqliteTokenStore({ file: files.tokens }));
  const tokens = await TokenRegistry.load(tokenStore, now, newTokenId);
  const agents = await KnownAgents.load(tokenStore, tokens);
  opened.defer(() => agents.save());
  const audit = opened.use(await openSqliteAuditLog({ file: files.audit }));
  await ensureOperatorToken(tokens, files.operatorToken);
  const fault = options.fault ?? noFault;
  const flusher = new Flusher(fault);
  const taps = new Taps(now);
  const failure = Promise.withResolvers<unknown>();
  const delivery = new Delivery({
    store,
    now,
    newLeaseId: () => nanoid(12),
    maxDeliver,
    flush: () => flusher.flush(),
    onError: (error) => log({ level: 'error', event: 'delivery_failed', error }),
    onStoreFailed: failure.resolve,
    fault,
    tap: taps,
  });
  const brokerId = await store.identity();
  const context: SessionContext = {
    brokerId,
    delivery,
    store,
    tokens,
    agents,
    suggestions: new RateLimit(suggestionsPerSecond, suggestionsPerSecond, now()),
    sessions: new SessionTable(),
    taps,
    audit,
    flusher,
    limits,
    policies: options.policies ?? {},
    heartbeatMs: options.heartbeatMs ?? 15_000,
    receiptMeans: store.caps.receiptMeans,
    dedupeWindowMs: store.dedupeWindowMs,
    now,
    log,
  };
  const listener = await Listener.open({
    context,
    host,
    port: options.port ?? 7420,
    helloTimeoutMs: options.helloTimeoutMs ?? 5000,
    newSerial: () => nanoid(8),
  });
  const housekeeping = new Housekeeping(store, delivery, audit, now);
  const onError = (error: unknown): void => log({ level: 'error', event: 'housekeeping_failed', error });
  opened.use(repeat(tickMs, () => delivery.deadlines.tick(now()), onError));
  opened.use(repeat(tickMs, async () => taps.catchUp(), onError));
  opened.use(repeat(1000, () => housekeeping.step(), onError));
  opened.use(repeat(1000, () => agents.save(), onError));
  opened.use(repeat(500, () => endExpired(context), onError));
  const url = `ws://${host.includes(':') ? `[${host}]` : host}:${listener.port}`;
  await writePrivate(files.facts, JSON.stringify({ pid: process.pid, url, started_at: now() }));
  log({
    level: 'info',
    event: 'broker_ready',
    url,
    dataDir: options.dataDir,
    receiptMeans: store.caps.receiptMeans,
  });
  const resources = opened.move();
  const stop = once(async () => {
    await listener.close(reconnectAfterMs);
    await removeFile(files.facts);
    await resources.disposeAsync();
    log({ level: 'info', event: 'broker_stopped' });
  });
  failure.promise
    .then((error) => {
      log({ level: 'error', event: 'store_failed', error });
      return stop();
    })
    .catch((error) => log({ level: 'error', event: 'stop_failed', error }));
  return {
    url,
    port: listener.port,
    brokerId,
    operatorTokenFile: files.operatorToken,
    issueToken: (request) => issue(tokens, request),
    failed: failure.promise,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** What expired tokens held or asked for is over. */
async function endExpired({ sessions, tokens, delivery }: SessionContext): Promise<void> {
  sessions.endWhere((session) => !tokens.isLive(session.token), 'the token of this connection has expired');
  for (const id of tokens.takeExpired()) {
    await delivery.cancellations.forbid(id, 'the token it was sent with has expired');
  }
}

function openStore(
  file: string,
  options: BrokerOptions,
  limits: Limits,
  now: () => number,
): Promise<InboxStore> {
  const { maxInboxMessages, maxInboxBytes, maxPendingPerSender, maxTotalBytes } = limits;
  return openSqliteInboxStore({
    file,
    durability: options.durability ?? 'full',
    caps: { maxInboxMessages, maxInboxBytes, maxPendingPerSender, maxTotalBytes },
    now,
  });
}

/** The operator's token is made at the first start, and again if its file was lost. */
async function ensureOperatorToken(tokens: TokenRegistry, file: string): Promise<void> {
  const text = await readText(file);
  if (text !== undefined && isOperator(tokens.authenticate(text))) return;
  const { token } = await tokens.issue({ agent: 'operator', role: 'operator' });
  await removeFile(file);
  await writePrivate(file, `${token}\n`);
}

function isOperator(record: TokenRecord | 'unknown' | 'expired'): boolean {
  return typeof record === 'object' && record.permissions.includes('operator');
}

async function issue(tokens: TokenRegistry, request: TokenRequest): Promise<{ id: string; token: string }> {
  const refusal = refuseToken(request);
  if (refusal) throw new SignalboxError(refusal.code, refusal.message, { details: { field: refusal.field } });
  const { record, token } = await tokens.issue(request);
  return { id: record.id, token };
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= run();
    return running;
  };
}
