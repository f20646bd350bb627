import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import {
  type AdminResult,
  isGroup,
  isPrivileged,
  limitsOf,
  SignalboxError,
  socketAddress,
} from '@signalbox/protocol';
import { failuresOf, nearestNames } from '@signalbox/protocol/internal';
import { nameFor, type TlsPair } from '@signalbox/serving/tls';
import { writeWhole } from '@signalbox/serving/whole-files';
import type { AuditEvent, InboxStore, TokenRecord } from '@signalbox/store';
import { auditEvent } from './audit-event.ts';
import type { GroupSettings } from './auth/groups.ts';
import type { IdentityProvider } from './auth/identity-provider.ts';
import { refuseName } from './auth/issuing-rules.ts';
import { type SignIn, signIn, signInOf, signOut } from './auth/sign-ins.ts';
import type { TokenRegistry } from './auth/token-registry.ts';
import { refuseToken, type TokenRequest } from './auth/token-rules.ts';
import { type BrokerFacts, brokerFiles, removeFile } from './broker-files.ts';
import { type BrokerOptions, type BrokerSettings, settingsOf } from './broker-options.ts';
import { type ChoreDeps, startChores } from './chores/chores.ts';
import type { ConnectionDeps } from './connection/connection.ts';
import { createConnectionDeps } from './connection-deps.ts';
import { describeIssued, describeToken } from './frames/admin/tokens.ts';
import { BrokerHealth } from './health/broker-health.ts';
import type { HttpPages } from './listener/http-pages.ts';
import { Listener } from './listener/listener.ts';
import { openSocketFile } from './listener/socket-file.ts';
import type { Log } from './log.ts';
import { ensureOperatorToken } from './operator-token.ts';
import { ScheduleRuns } from './schedules/schedule-runs.ts';
import type { ScheduleSettings } from './schedules/schedule-settings.ts';
import { openStores } from './stores.ts';
import type { Stores } from './stores-elsewhere.ts';
import type { HookSettings } from './webhooks/hook-settings.ts';

/** A running broker. Disposing it stops it. */
export interface Broker extends AsyncDisposable {
  /** The TCP address for clients, `ws://host:port`, or `wss://name:port` with a name of the certificate. */
  readonly url: string;
  /** The address of the Unix socket, `unix:/path`, for clients of the same user. `undefined` if there is none. */
  readonly socket: string | undefined;
  readonly port: number;
  /** The id of the store, which stays the same over restarts. */
  readonly brokerId: string;
  /** The path of the file that holds the operator's token. Its mode is 0600. */
  readonly operatorTokenFile: string;
  /** Issues a token in this process. Rejects with a `SignalboxError`, `bad_frame` or `forbidden`, if the rules refuse it. */
  issueToken(request: TokenRequest): Promise<{ id: string; token: string }>;
  /** Replaces the groups of the configuration. Agents that are no longer members lose their leases. */
  setGroups(groups: GroupSettings): void;
  /** Replaces the webhooks of the configuration. Throws `bad_config` for a secret that can't be used. */
  setHooks(hooks: HookSettings): void;
  /** Replaces the schedules of the configuration. Throws `bad_config` for a timetable that can't be used. */
  setSchedules(schedules: ScheduleSettings): void;
  /** Encrypts new connections with another certificate and key from now on. Throws if they can't be used. */
  setTls(pair: TlsPair): void;
  /**
   * Checks tokens with another identity provider, or under other rules, from now on; with none if it is `undefined`. Clients with tokens of
   * the previous one connect again, and are checked again.
   */
  setIdentityProvider(provider: IdentityProvider | undefined): void;
  /** Lets pages of this program answer the HTTP requests that they cover. The broker stops them when it stops. */
  servePages(pages: HttpPages): void;
  /** The origins of those pages: those that the broker trusts, then its own. */
  readonly origins: readonly string[];
  /** Opens a connection of this process: a stream in place of a socket. */
  openConnection(): Duplex;
  /** Begins a sign-in of a browser for a code of `sign_in_link`. Resolves with `undefined` if the code is not valid. */
  signIn(code: string): Promise<SignIn | undefined>;
  /** Returns the sign-in of a browser that a token belongs to, if it has not ended. */
  signInOf(token: string): SignIn | undefined;
  /** Ends the sign-in of a browser that a token belongs to. */
  signOut(token: string): Promise<void>;
  /** Lists the valid tokens without their secrets, in this process: no client has read them. */
  tokens(): AdminResult<'token_list'>['tokens'];
  /** Resolves with the error if the store has failed for good. The broker then stops by itself. */
  readonly failed: Promise<unknown>;
  /**
   * Tells the clients, commits the waiting messages, and closes the files. Resolves when all of this is done. If a part fails, the others
   * are still done, and then the promise rejects.
   */
  stop(): Promise<void>;
}

/** The time after which clients reconnect to a broker that stops, in milliseconds. */
const reconnectAfterMs = 100;

/**
 * Starts a broker on a data directory. Rejects with a `SignalboxError`: `data_directory_locked` if another broker runs there
 * (the message names its pid), `insecure_listen` for a host beyond loopback without `tls` and `insecure`.
 */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const given = settingsOf(options);
  const files = brokerFiles(given.dataDir);
  const storeFailed = Promise.withResolvers<unknown>();
  await using opened = new AsyncDisposableStack();
  const parts = await openParts(given, opened, storeFailed.resolve);
  const { settings, stores, deps, health } = parts;
  const eventOfToken = (record: TokenRecord): AuditEvent =>
    auditEvent('token_issued', { at: deps.now(), ...describeIssued(record) });
  await ensureOperatorToken(deps.tokens, files.operatorToken, eventOfToken);
  await deps.delivery.discardLeftovers();
  const brokerId = await stores.inboxes.identity();
  const cutOff: CutOff = { letGo: () => {} };
  for (const chore of startChores(choreDeps(parts, cutOff))) opened.use(chore);
  const listener = await openListener(settings, deps, { brokerId, store: stores.inboxes, health });
  cutOff.letGo = () => listener.letGo();
  // The stack runs these from the last to the first.
  opened.defer(() => listener.close());
  opened.defer(() => deps.delivery.close());
  opened.defer(() => listener.sayGoingAway(reconnectAfterMs));
  const socket = settings.socket ? await openSocket(listener, settings, opened) : undefined;
  const { port } = listener;
  const url = urlOf(settings, port);
  deps.reachedAt.origins = [...settings.trustedOrigins, url.replace(/^ws/, 'http')];
  opened.defer(() => removeFile(files.facts));
  await writeWhole(files.facts, JSON.stringify(factsOf(settings, url, socket)));
  opened.defer(() => health.enter('draining'));
  health.enter('running');
  logReady(options, parts, { url, socket });
  const stop = stopOnce(opened.move(), settings.log);
  void storeFailed.promise.then(async (error) => {
    settings.log({ level: 'error', event: 'store_failed', error });
    // `stop` itself logs each step that fails.
    await stop().catch(() => {});
  });
  return {
    url,
    socket,
    port,
    brokerId,
    operatorTokenFile: files.operatorToken,
    ...reloadsOf(deps, listener),
    servePages: (pages) => listener.setPages(pages),
    origins: deps.reachedAt.origins,
    openConnection: () => listener.openConnection(),
    signIn: (code) => signIn(code, deps),
    signInOf: (token) => signInOf(token, deps),
    signOut: (token) => signOut(token, deps),
    tokens: () => deps.tokens.list().map(describeToken),
    issueToken: (request) => issueToken(deps.tokens, request, eventOfToken),
    failed: storeFailed.promise,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The parts of a broker that need no connection. */
interface BrokerParts extends Pick<ChoreDeps, 'runs' | 'keepTime' | 'onStoreFailed'> {
  settings: BrokerSettings;
  stores: Stores;
  deps: ConnectionDeps;
  health: BrokerHealth;
}

/**
 * Opens the stores and makes the parts over them. Each is added to `opened`, which closes it. `resolveFailed` is given a final error of the
 * store.
 */
async function openParts(
  given: BrokerSettings,
  opened: AsyncDisposableStack,
  resolveFailed: (error: unknown) => void,
): Promise<BrokerParts> {
  // The messages' store is opened before the tokens are loaded, since the time that it keeps decides which tokens have expired.
  let tokens: TokenRegistry | undefined;
  const stores = await openStores(given, opened, (agent) => {
    for (const role of tokens?.rolesOf(agent) ?? []) if (isPrivileged(role)) return true;
    return false;
  });
  const { inboxes, cluster, now = given.now } = stores;
  const settings = { ...given, now };
  const { limits, monotonic } = settings;
  const { reservePercent } = limits.forAll.store;
  const health = new BrokerHealth({ store: inboxes, reservePercent, monotonic });
  const onStoreFailed = (error: unknown): void => {
    health.enter('failed');
    resolveFailed(error);
  };
  const deps = await createConnectionDeps(settings, stores, { health, onStoreFailed });
  tokens = deps.tokens;
  opened.defer(() => deps.agents.save());
  const runs = new ScheduleRuns({ ...deps, cluster, keptTime: () => inboxes.keptTime() });
  const keepTime = async (): Promise<void> => {
    const { reached } = runs;
    if (reached && cluster.keepsHouse) await inboxes.keepTime(reached, deps.schedules.marks());
  };
  await keepTime();
  opened.defer(keepTime);
  opened.use(deps.tailRelay);
  opened.use(deps.metrics);
  opened.use(deps.samples);
  opened.use(deps.backups);
  auditStart(settings, deps);
  return { settings, stores, deps, health, runs, keepTime, onStoreFailed };
}

/** Lets the clients of a broker go that is cut off. */
interface CutOff {
  letGo: () => void;
}

function choreDeps({ stores, deps, runs, keepTime, onStoreFailed }: BrokerParts, cutOff: CutOff): ChoreDeps {
  const { inboxes, cluster } = stores;
  const onCutOff = (): void => {
    deps.log({
      level: 'warn',
      event: 'cut_off',
      message:
        'the database was not heard of for so long that other brokers may serve the clients of this one: they are let go',
    });
    cutOff.letGo();
  };
  return { ...deps, inboxes, cluster, runs, keepTime, onStoreFailed, onCutOff };
}

function factsOf(
  { supervisorPid, configFile, now }: BrokerSettings,
  url: string,
  socket: string | undefined,
): BrokerFacts {
  return {
    pid: process.pid,
    url,
    ...(socket !== undefined && { socket }),
    started_at: now(),
    ...(supervisorPid !== undefined && { supervisor_pid: supervisorPid }),
    ...(configFile !== undefined && { config: configFile }),
  };
}

/** Logs that the broker is ready, and what its operator should know about its settings. */
function logReady(
  options: BrokerOptions,
  { settings, deps }: BrokerParts,
  { url, socket }: { url: string; socket: string | undefined },
): void {
  const { dataDir, log, stores } = settings;
  const { receiptMeans } = deps;
  log({ level: 'info', event: 'broker_ready', url, socket, dataDir, receiptMeans });
  warnOfLoweredConnections(options, settings);
  if (stores && receiptMeans === 'written')
    log({
      level: 'warn',
      event: 'receipts_written',
      message:
        'the database confirms what is not on its disk (fsync or synchronous_commit is off): a receipt does not survive a power cut',
    });
  warnOfUnknownRecipients(deps);
}

/** Returns the methods that replace parts of the configuration. */
function reloadsOf(
  deps: ConnectionDeps,
  listener: Listener,
): Pick<Broker, 'setGroups' | 'setHooks' | 'setSchedules' | 'setTls' | 'setIdentityProvider'> {
  return {
    setGroups: (next) => {
      const { groups, delivery } = deps;
      groups.set(next);
      delivery.subscriptions.dropMembers((group, role) => groups.isMember(group, role));
    },
    setHooks: (hooks) => {
      deps.webhooks.set(hooks);
      warnOfUnknownRecipients(deps);
    },
    setSchedules: (schedules) => {
      deps.schedules.set(schedules, deps.now());
      warnOfUnknownRecipients(deps);
    },
    setTls: (pair) => listener.setTls(pair),
    setIdentityProvider: (provider) => {
      deps.audit.record(auditEvent('auth_applied', { at: deps.now(), detail: providerText(provider) }));
      listener.setIdentityProvider(provider);
    },
  };
}

/** Records the start, with a hash of the rules for roles: if it differs from that of the previous start, somebody changed them. */
function auditStart(
  { durability, policies, groups, limits, identityProvider }: BrokerSettings,
  { audit, now }: ConnectionDeps,
): void {
  const rules = createHash('sha256')
    .update(JSON.stringify([policies, groups, limits]))
    .digest('hex')
    .slice(0, 16);
  const tokens = identityProvider ? `; ${providerText(identityProvider)}` : '';
  const detail = `durability ${durability}; the rules for roles have the hash ${rules}${tokens}`;
  audit.record(auditEvent('broker_started', { at: now(), detail }));
}

function providerText(provider: IdentityProvider | undefined): string {
  if (!provider) return 'tokens of no identity provider are accepted';
  return `tokens of ${provider.issuer} are accepted under rules with the hash ${provider.rulesHash}`;
}

/** Warns if the process may open too few sockets for the configured connections. */
function warnOfLoweredConnections(options: BrokerOptions, { limits, openFiles, log }: BrokerSettings): void {
  const wanted = limitsOf(undefined, options.limits).connections;
  const { total, unauthenticated } = limits.forAll.connections;
  if (total === wanted.total && unauthenticated === wanted.unauthenticated) return;
  log({
    level: 'warn',
    event: 'connections_lowered',
    message: `this process may open ${openFiles} files and sockets, which is enough for ${total} connections instead of ${wanted.total}, and ${unauthenticated} of strangers instead of ${wanted.unauthenticated}; raise it with ulimit -n or LimitNOFILE`,
    openFiles,
    total,
    unauthenticated,
  });
}

/** Warns about webhooks and schedules with unknown recipients. Their messages are refused, and may come again later. */
function warnOfUnknownRecipients({ webhooks, schedules, agents, groups, tokens, log }: ConnectionDeps): void {
  const known = (to: string): boolean => (isGroup(to) ? groups.has(to) : agents.has(to));
  const warn = (of: 'hook' | 'schedule', name: string, to: string, what: string): void => {
    const names = isGroup(to) ? groups.addresses() : Array.from(tokens.liveAgents(), ({ agent }) => agent);
    const [near] = nearestNames(to, names);
    const meant = near === undefined ? '' : ` (did you mean '${near}'?)`;
    log({
      level: 'warn',
      event: `${of}_without_recipient`,
      [of]: name,
      message: `${of}s.${name}.to: no agent or group '${to}' is known here${meant}; its ${what} are refused until there is one`,
    });
  };
  for (const { name, to } of webhooks.all()) if (!known(to)) warn('hook', name, to, 'deliveries');
  for (const { name, entry } of schedules.all())
    if (!known(entry.to)) warn('schedule', name, entry.to, 'runs');
}

function openListener(
  { host, port, tls, identityProvider, trustedOrigins, heartbeatMs, helloTimeoutMs, metrics }: BrokerSettings,
  deps: ConnectionDeps,
  { brokerId, store, health }: { brokerId: string; store: InboxStore; health: BrokerHealth },
): Promise<Listener> {
  return Listener.open({
    host,
    port,
    ...(tls && { tls }),
    ...(identityProvider && { identityProvider }),
    trustedOrigins,
    heartbeatMs,
    helloTimeoutMs,
    // A client behind a proxy also seems to come from this machine.
    opensMetrics: metrics === 'open' && trustedOrigins.length === 0,
    health,
    greeting: {
      type: 'welcome',
      broker_id: brokerId,
      ...(deps.presence.broker !== undefined && { broker: deps.presence.broker }),
      heartbeat_ms: heartbeatMs,
      // A database may gain or lose a standby.
      get receipt_means() {
        return deps.receiptMeans;
      },
      dedupe_window_ms: store.dedupeWindowMs,
    },
    deps,
  });
}

/** Returns the address of the socket that the broker listens on. If there can't be one, the log has the reason. */
async function openSocket(
  listener: Listener,
  { dataDir, runtimeDir, log }: BrokerSettings,
  opened: AsyncDisposableStack,
): Promise<string | undefined> {
  const listen = (path: string): Promise<void> => listener.listenOnSocket(path);
  const file = await openSocketFile({ dataDir, runtimeDir, listen });
  if ('path' in file) {
    opened.defer(file.dispose);
    return socketAddress(file.path);
  }
  log({
    level: 'warn',
    event: 'no_socket',
    message: `no Unix socket could be made, so that agents and commands of this machine use TCP: ${file.problems.join('; ')}`,
  });
  return undefined;
}

/**
 * Returns the address for clients. A broker that listens on all addresses is reached on loopback. An encrypted one is reached by a name of
 * its certificate, since clients accept no other.
 */
function urlOf({ host, tls }: BrokerSettings, port: number): string {
  const near = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const reached = tls ? nameFor(near, tls) : near;
  return `${tls ? 'wss' : 'ws'}://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

/**
 * Returns a function that stops the broker when it is first called. Every step is done, even if others fail; each failure is logged. Each
 * call resolves when the broker has stopped, or rejects with the failures.
 */
function stopOnce(resources: AsyncDisposableStack, log: Log): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    try {
      await resources.disposeAsync();
      log({ level: 'info', event: 'broker_stopped' });
    } catch (thrown) {
      for (const error of failuresOf(thrown)) log({ level: 'error', event: 'stop_failed', error });
      throw thrown;
    }
  };
  return () => {
    stopping ??= stop();
    return stopping;
  };
}

async function issueToken(
  tokens: TokenRegistry,
  request: TokenRequest,
  eventOf: (record: TokenRecord) => AuditEvent,
): Promise<{ id: string; token: string }> {
  const refusal = refuseToken(request) ?? refuseName(request, tokens);
  if (refusal) throw new SignalboxError(refusal.code, refusal.message, { details: { field: refusal.field } });
  const { record, token } = (await tokens.issue(request, eventOf))!;
  return { id: record.id, token };
}
