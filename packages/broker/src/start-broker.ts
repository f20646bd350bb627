import {
  defaultLimits,
  type Fault,
  isLoopback,
  type Limits,
  noFault,
  SignalboxError,
} from '@signalbox/protocol';
import {
  type AuditLog,
  type InboxStore,
  lockDataDirectory,
  openSqliteAuditLog,
  openSqliteInboxStore,
  openSqliteTokenStore,
  type TokenStore,
} from '@signalbox/store';
import { customAlphabet, nanoid } from 'nanoid';
import { KnownAgents } from './auth/known-agents.ts';
import type { RolePolicy } from './auth/role-policy.ts';
import { TokenRegistry } from './auth/token-registry.ts';
import { refuseToken, type TokenRequest } from './auth/token-rules.ts';
import { brokerFiles, removeFile, writePrivate } from './broker-files.ts';
import { Housekeeping } from './chores/housekeeping.ts';
import { repeat } from './chores/repeat.ts';
import { Delivery } from './core/delivery.ts';
import { ConnectedCallers } from './frames/connected-callers.ts';
import { RateLimit } from './frames/rate-limit.ts';
import { TailFollowers } from './frames/tail-followers.ts';
import type { Greeting } from './listener/connection.ts';
import { Listener } from './listener/listener.ts';
import type { Log } from './log.ts';
import { ensureOperatorToken } from './operator-token.ts';
import { OutboxFlusher } from './session/outbox-flusher.ts';
import type { SessionDeps } from './session/session.ts';

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

/** The options, with a default for each that was left out. */
type Setup = Required<BrokerOptions> & { limits: Limits };

const maxDeliver = 5;
const reconnectAfterMs = 100;
const suggestionsPerSecond = 20;

/** People pass these ids to commands, where a leading dash would make them options. */
const newTokenId = customAlphabet('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 14);

/**
 * Starts a broker on a data directory. Throws `data_directory_locked` if another one runs there (naming its pid),
 * `insecure_listen` for an address beyond loopback without `insecure`.
 */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const setup = withDefaults(options);
  const { dataDir, now, log } = setup;
  refuseInsecureListening(setup);
  const files = brokerFiles(dataDir);
  const storeFailed = Promise.withResolvers<unknown>();

  await using opened = new AsyncDisposableStack();
  const stores = await openStores(setup, files, opened);
  const deps = await openDeps(setup, stores, storeFailed.resolve);
  opened.defer(() => deps.agents.save());
  await ensureOperatorToken(deps.tokens, files.operatorToken);
  const brokerId = await stores.inboxes.identity();
  const listener = await listen(setup, deps, brokerId, stores.inboxes.dedupeWindowMs);
  for (const chore of startChores(deps, stores)) opened.use(chore);

  const { host } = setup;
  const { port } = listener;
  const url = `ws://${host.includes(':') ? `[${host}]` : host}:${port}`;
  await writePrivate(files.facts, JSON.stringify({ pid: process.pid, url, started_at: now() }));
  log({ level: 'info', event: 'broker_ready', url, dataDir, receiptMeans: deps.receiptMeans });

  const resources = opened.move();
  const stop = once(async () => {
    listener.sayGoingAway(reconnectAfterMs);
    await deps.delivery.close();
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
    port,
    brokerId,
    operatorTokenFile: files.operatorToken,
    issueToken: (request) => issueToken(deps.tokens, request),
    failed: storeFailed.promise,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function withDefaults({
  dataDir,
  host = '127.0.0.1',
  port = 7420,
  durability = 'full',
  limits = {},
  heartbeatMs = 15_000,
  helloTimeoutMs = 5000,
  policies = {},
  insecure = false,
  fault = noFault,
  now = Date.now,
  log = () => {},
}: BrokerOptions): Setup {
  return {
    dataDir,
    host,
    port,
    durability,
    limits: { ...defaultLimits, ...limits },
    heartbeatMs,
    helloTimeoutMs,
    policies,
    insecure,
    fault,
    now,
    log,
  };
}

function refuseInsecureListening({ host, insecure }: Setup): void {
  if (isLoopback(host) || insecure) return;
  throw new SignalboxError(
    'insecure_listen',
    `listening on '${host}' would send tokens and messages unencrypted over the network; use 127.0.0.1, or accept it with --insecure`,
  );
}

interface Stores {
  inboxes: InboxStore;
  tokens: TokenStore;
  audit: AuditLog;
}

async function openStores(
  { dataDir, durability, limits, now }: Setup,
  files: ReturnType<typeof brokerFiles>,
  opened: AsyncDisposableStack,
): Promise<Stores> {
  opened.use(await lockDataDirectory(dataDir));
  const { maxInboxMessages, maxInboxBytes, maxPendingPerSender, maxTotalBytes } = limits;
  const caps = { maxInboxMessages, maxInboxBytes, maxPendingPerSender, maxTotalBytes };
  return {
    inboxes: opened.use(await openSqliteInboxStore({ file: files.messages, durability, caps, now })),
    tokens: opened.use(await openSqliteTokenStore({ file: files.tokens })),
    audit: opened.use(await openSqliteAuditLog({ file: files.audit })),
  };
}

/** Makes all that connections work with: who may connect, the core that moves messages, and who follows it. */
async function openDeps(
  { limits, policies, fault, now, log }: Setup,
  stores: Stores,
  onStoreFailed: (error: unknown) => void,
): Promise<SessionDeps> {
  const { inboxes: store, audit } = stores;
  const tokens = await TokenRegistry.load(stores.tokens, now, newTokenId);
  const followers = new TailFollowers(now);
  const delivery = new Delivery({
    store,
    now,
    newLeaseId: () => nanoid(12),
    maxDeliver,
    onError: (error) => log({ level: 'error', event: 'delivery_failed', error }),
    onStoreFailed,
    fault,
    tail: followers,
  });
  return {
    delivery,
    store,
    tokens,
    agents: await KnownAgents.load(stores.tokens, tokens),
    policies,
    connected: new ConnectedCallers(now, () => nanoid(8)),
    suggestions: new RateLimit(suggestionsPerSecond, suggestionsPerSecond, now()),
    followers,
    audit,
    flusher: new OutboxFlusher(fault),
    limits,
    receiptMeans: store.caps.receiptMeans,
    now,
    log,
  };
}

function listen(
  { host, port, heartbeatMs, helloTimeoutMs, limits }: Setup,
  deps: SessionDeps,
  brokerId: string,
  dedupeWindowMs: number,
): Promise<Listener> {
  const greeting: Greeting = {
    type: 'welcome',
    broker_id: brokerId,
    limits: { ...limits },
    heartbeat_ms: heartbeatMs,
    receipt_means: deps.receiptMeans,
    dedupe_window_ms: dedupeWindowMs,
  };
  return Listener.open({ host, port, heartbeatMs, helloTimeoutMs, greeting, deps });
}

/** Starts the work that is done again and again while the broker runs. */
function startChores(deps: SessionDeps, { inboxes }: Stores): AsyncDisposable[] {
  const { delivery, followers, agents, audit, now, log } = deps;
  const housekeeping = new Housekeeping(inboxes, delivery, audit, now);
  const onError = (error: unknown): void => log({ level: 'error', event: 'housekeeping_failed', error });
  return [
    repeat(250, () => delivery.deadlines.check(now()), onError),
    repeat(250, async () => followers.catchUp(), onError),
    repeat(500, () => endExpired(deps), onError),
    repeat(1000, () => housekeeping.step(), onError),
    repeat(1000, () => agents.save(), onError),
  ];
}

/** Ends the connections of tokens that have expired, and takes back what was asked for with them. */
async function endExpired({ connected, tokens, delivery }: SessionDeps): Promise<void> {
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
