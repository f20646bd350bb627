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
} from '@signalbox/store';
import { customAlphabet, nanoid } from 'nanoid';
import { KnownAgents } from './auth/known-agents.ts';
import type { RolePolicy } from './auth/role-policy.ts';
import { TokenRegistry } from './auth/token-registry.ts';
import { refuseToken, type TokenRequest } from './auth/token-rules.ts';
import { brokerFiles, removeFile, writePrivate } from './broker-files.ts';
import { Delivery } from './core/delivery.ts';
import { ConnectedCallers } from './frames/connected-callers.ts';
import { RateLimit } from './frames/rate-limit.ts';
import { Taps } from './frames/taps.ts';
import { Housekeeping } from './housekeeping.ts';
import { Listener } from './listener/listener.ts';
import type { Log } from './log.ts';
import { ensureOperatorToken } from './operator-token.ts';
import { repeat } from './repeat.ts';
import { OutboxFlusher } from './session/outbox-flusher.ts';
import type { SessionPorts } from './session/session.ts';

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
  /** The rules of each role, where they differ from the default of a worker. */
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
const defaultHost = '127.0.0.1';

/** People pass these ids to commands, where a leading dash would make them options. */
const newTokenId = customAlphabet('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 14);

/**
 * Starts a broker on a data directory. Throws `data_directory_locked` if another one runs there (naming its pid),
 * `insecure_listen` for an address beyond loopback without `insecure`.
 */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const { host = defaultHost, now = Date.now, log = () => {}, fault = noFault, policies = {} } = options;
  refuseInsecureListening(host, options.insecure);
  const files = brokerFiles(options.dataDir);
  const limits = { ...defaultLimits, ...options.limits };

  // The files.
  await using opened = new AsyncDisposableStack();
  opened.use(await lockDataDirectory(options.dataDir));
  const store = opened.use(await openStore(files.messages, limits, options.durability, now));
  const tokenStore = opened.use(await openSqliteTokenStore({ file: files.tokens }));
  const tokens = await TokenRegistry.load(tokenStore, now, newTokenId);
  const agents = await KnownAgents.load(tokenStore, tokens);
  opened.defer(() => agents.save());
  const audit = opened.use(await openSqliteAuditLog({ file: files.audit }));
  await ensureOperatorToken(tokens, files.operatorToken);

  // The core, which moves messages.
  const taps = new Taps(now);
  const storeFailed = Promise.withResolvers<unknown>();
  const delivery = new Delivery({
    store,
    now,
    newLeaseId: () => nanoid(12),
    maxDeliver,
    onError: (error) => log({ level: 'error', event: 'delivery_failed', error }),
    onStoreFailed: storeFailed.resolve,
    fault,
    tap: taps,
  });

  // The connections, with all that they work with.
  const connected = new ConnectedCallers(now, () => nanoid(8));
  const suggestions = new RateLimit(suggestionsPerSecond, suggestionsPerSecond, now());
  const flusher = new OutboxFlusher(fault);
  const { receiptMeans } = store.caps;
  const ports: SessionPorts = {
    delivery,
    store,
    tokens,
    agents,
    policies,
    connected,
    suggestions,
    taps,
    audit,
    flusher,
    limits,
    receiptMeans,
    now,
    log,
  };
  const brokerId = await store.identity();
  const heartbeatMs = options.heartbeatMs ?? 15_000;
  const listener = await Listener.open({
    host,
    port: options.port ?? 7420,
    heartbeatMs,
    helloTimeoutMs: options.helloTimeoutMs ?? 5000,
    greeting: {
      type: 'welcome',
      broker_id: brokerId,
      limits: { ...limits },
      heartbeat_ms: heartbeatMs,
      receipt_means: receiptMeans,
      dedupe_window_ms: store.dedupeWindowMs,
    },
    ports,
  });
  for (const chore of startChores(ports, store)) opened.use(chore);

  const url = `ws://${host.includes(':') ? `[${host}]` : host}:${listener.port}`;
  await writePrivate(files.facts, JSON.stringify({ pid: process.pid, url, started_at: now() }));
  log({ level: 'info', event: 'broker_ready', url, dataDir: options.dataDir, receiptMeans });

  const resources = opened.move();
  const stop = once(async () => {
    listener.sayGoingAway(reconnectAfterMs);
    await delivery.close();
    await listener.close();
    await removeFile(files.facts);
    await resources.disposeAsync();
    log({ level: 'info', event: 'broker_stopped' });
  });
  storeFailed.promise
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
    issueToken: (request) => issueToken(tokens, request),
    failed: storeFailed.promise,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function refuseInsecureListening(host: string, insecure = false): void {
  if (isLoopback(host) || insecure) return;
  throw new SignalboxError(
    'insecure_listen',
    `listening on '${host}' would send tokens and messages unencrypted over the network; use 127.0.0.1, or accept it with --insecure`,
  );
}

function openStore(
  file: string,
  limits: Limits,
  durability: BrokerOptions['durability'] = 'full',
  now: () => number,
): Promise<InboxStore> {
  const { maxInboxMessages, maxInboxBytes, maxPendingPerSender, maxTotalBytes } = limits;
  const caps = { maxInboxMessages, maxInboxBytes, maxPendingPerSender, maxTotalBytes };
  return openSqliteInboxStore({ file, durability, caps, now });
}

/** Starts the work that is done again and again while the broker runs. */
function startChores(ports: SessionPorts, store: InboxStore): AsyncDisposable[] {
  const { delivery, taps, agents, audit, now, log } = ports;
  const housekeeping = new Housekeeping(store, delivery, audit, now);
  const onError = (error: unknown): void => log({ level: 'error', event: 'housekeeping_failed', error });
  return [
    repeat(250, () => delivery.deadlines.check(now()), onError),
    repeat(250, async () => taps.catchUp(), onError),
    repeat(500, () => endExpired(ports), onError),
    repeat(1000, () => housekeeping.step(), onError),
    repeat(1000, () => agents.save(), onError),
  ];
}

/** Ends the connections of tokens that have expired, and takes back what was asked for with them. */
async function endExpired({ connected, tokens, delivery }: SessionPorts): Promise<void> {
  connected.endWhere(({ token }) => !tokens.isLive(token), 'the token of this connection has expired');
  for (const id of tokens.takeExpired()) {
    await delivery.cancellations.forbid(id, 'the token it was sent with has expired');
  }
}

async function issueToken(
  tokens: TokenRegistry,
  request: TokenRequest,
): Promise<{ id: string; token: string }> {
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
