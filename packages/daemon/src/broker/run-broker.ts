import { isDeepStrictEqual } from 'node:util';
import { type Broker, type BrokerOptions, type IdentityProvider, startBroker } from '@signalbox/broker';
import { isLoopback } from '@signalbox/protocol';
import type { Fault } from '@signalbox/serving';
import type { Config, ListenAddress } from '../config/index.ts';
import { formatListenAddress, type ListedRoles, listenError, tryListening } from '../config/internal.ts';
import { checkDataDirectory, dataDirectory, orchestratorFiles } from '../data-directory/data-directory.ts';
import type { Log } from '../log.ts';
import { namedRoles, roleLimits, sendPolicies } from '../policy/broker-policies.ts';
import type { TlsFiles, TlsFilesOptions } from '../tls/index.ts';
import { dashboardOf } from './dashboard-of.ts';
import { postgresStores } from './postgres-stores.ts';

/** The configuration that a broker runs with. The other options replace or add to parts of it. */
export interface RunBrokerOptions {
  config: Config;
  /** Replaces `broker.data`. */
  dataDir?: string;
  /** Replaces `broker.listen`. */
  listen?: ListenAddress;
  /** Replaces `broker.durability`. */
  durability?: 'full' | 'process';
  /** Allows an address that other machines can reach, although nothing is encrypted. */
  insecure?: boolean;
  /** Starts on a data directory that has lost messages or tokens, with what is left. */
  acceptLoss?: boolean;
  /** The process that starts this one again when it dies. `broker.json` names it. */
  supervisorPid?: number;
  /** The directory with the built page of the dashboard. Without it the broker serves none. */
  pageDirectory?: string;
  log?: Log;
  /** Called at the named points at which tests let a process die. */
  fault?: Fault;
}

/** A broker that runs in this process until it is disposed. */
export interface RunningBroker extends AsyncDisposable {
  /** The TCP address, `ws://HOST:PORT` or `wss://NAME:PORT`, with the port that was taken. */
  readonly url: string;
  /** The address of the Unix socket, `unix:/PATH`, for this user's programs on this machine. `undefined` if there is none. */
  readonly socket: string | undefined;
  readonly dataDir: string;
  /** The file with the operator's token. */
  readonly operatorTokenFile: string;
  /**
   * Issues a token in this process, valid for 30 days unless `ttlMs` says otherwise; `null` is for ever. Rejects if the agent id or the
   * role cannot be used.
   */
  issueToken(request: {
    agent: string;
    role: string;
    ttlMs?: number | null;
  }): Promise<{ id: string; token: string }>;
  /**
   * Puts the parts `auth`, `groups`, `hooks` and `schedules` of a configuration in force, reads the certificate and its key
   * again, and logs the outcome. The dashboard knows the new roles. All other parts are read at the start only.
   */
  reload(
    config: Pick<Config, 'auth' | 'roles' | 'unlisted' | 'groups' | 'hooks' | 'schedules'>,
  ): Promise<void>;
  /** Resolves with the reason if the disk fails under stored messages; the broker then stops by itself. */
  readonly failed: Promise<unknown>;
}

/**
 * Runs a broker in this process; resolves when it listens. Rejects with `bad_data_directory`, `data_directory_locked`,
 * `insecure_listen`, `bad_tls`, `address_in_use` or `cannot_listen`.
 */
export async function runBroker(options: RunBrokerOptions): Promise<RunningBroker> {
  const { config, insecure = false, acceptLoss = false, supervisorPid, log = () => {}, fault } = options;
  const { host, port } = options.listen ?? config.broker.listen;
  const dataDir = dataDirectory(options.dataDir, config);
  // A refusal leaves no files of a broker behind. On a directory that has them, the one that ends may still hold the port.
  if ((await checkDataDirectory(dataDir)).isNew) await tryListening({ host, port });
  const { journal, token } = orchestratorFiles(dataDir);
  await using opened = new AsyncDisposableStack();
  const { tls, keepBodies, store } = config.broker;
  const files =
    tls && opened.use(await openTlsFiles({ ...tls, onChange: (pair) => broker.setTls(pair), log }));
  const identityProvider = await providerOf(config.auth, log);
  const broker = await listen({
    dataDir,
    madeLater: [journal, token],
    host,
    port,
    ...(files && { tls: files.pair }),
    ...(identityProvider && { identityProvider }),
    trustedOrigins: config.broker.trustedOrigins,
    socket: config.broker.socket,
    durability: options.durability ?? config.broker.durability,
    ...(store && { stores: postgresStores(dataDir, { link: { host, port: 0 }, ...store }, log) }),
    metrics: config.broker.metrics,
    hooks: config.hooks,
    schedules: config.schedules,
    policies: sendPolicies(config.roles),
    roles: namedRoles(config),
    groups: config.groups,
    ...(keepBodies && { keepBodies }),
    limits: config.broker.limits,
    roleLimits: roleLimits(config.roles),
    insecure,
    acceptLoss,
    ...(supervisorPid !== undefined && { supervisorPid }),
    ...(config.file !== undefined && { configFile: config.file }),
    log,
    ...(fault && { fault }),
  });
  let listed: ListedRoles = config;
  if (options.pageDirectory !== undefined) {
    const orchestrator = config.orchestrator.id;
    broker.servePages(
      dashboardOf(broker, { orchestrator, listed: () => listed, directory: options.pageDirectory, log }),
    );
  }
  if (!isLoopback(host) && !files) {
    log({
      event: 'unencrypted_listen',
      level: 'warn',
      message:
        'listening beyond this machine without encryption: anyone who sees the traffic can read messages and tokens',
    });
  }
  const { url, socket, operatorTokenFile, failed } = broker;
  const resources = opened.move();
  let { auth, groups, hooks, schedules } = config;
  return {
    url,
    socket,
    dataDir,
    operatorTokenFile,
    failed,
    issueToken: (request) => broker.issueToken(request),
    reload: async (next) => {
      listed = next;
      if (isDeepStrictEqual(auth, next.auth)) {
        log({ event: 'auth_unchanged', level: 'info', message: 'auth has not changed' });
      } else {
        auth = next.auth;
        broker.setIdentityProvider(await providerOf(auth, log));
        log({ event: 'auth_applied', level: 'info', message: appliedText(auth) });
      }
      if (!isDeepStrictEqual(groups, next.groups)) {
        groups = next.groups;
        broker.setGroups(groups);
        const message = 'groups has changed; members that are members no more have lost their leases';
        log({ event: 'groups_applied', level: 'info', message });
      }
      if (!isDeepStrictEqual(hooks, next.hooks)) {
        hooks = next.hooks;
        broker.setHooks(hooks);
        const names = Object.keys(hooks).join(', ') || 'none';
        log({ event: 'hooks_applied', level: 'info', message: `hooks is in force; webhooks: ${names}` });
      }
      if (!isDeepStrictEqual(schedules, next.schedules)) {
        schedules = next.schedules;
        broker.setSchedules(schedules);
        const names = Object.keys(schedules).join(', ') || 'none';
        log({ event: 'schedules_applied', level: 'info', message: `schedules is in force: ${names}` });
      }
      await files?.reload();
    },
    async [Symbol.asyncDispose]() {
      await resources.disposeAsync();
      await broker.stop();
    },
  };
}

async function listen(options: BrokerOptions & ListenAddress): Promise<Broker> {
  try {
    return await startBroker(options);
  } catch (cause) {
    throw listenError(cause, formatListenAddress(options)) ?? cause;
  }
}

function appliedText(auth: Config['auth']): string {
  const rule = auth
    ? `tokens of ${auth.issuer} are judged by it`
    : 'no tokens of an identity provider are accepted';
  return `auth is in force: ${rule}, and clients that had one connect again`;
}

/** Opens the identity provider of the configuration. If it can't be reached, that is logged, and tokens of the broker work. */
async function providerOf(auth: Config['auth'], log: Log): Promise<IdentityProvider | undefined> {
  if (!auth) return undefined;
  const { openJwtProvider } = await import('../identity-provider/jwt-provider.ts');
  const onProblem = (problem: string | undefined): void =>
    problem === undefined
      ? log({
          event: 'identity_provider_reached',
          level: 'info',
          message: `the keys of ${auth.issuer} are known again`,
        })
      : log({
          event: 'identity_provider_unreachable',
          level: 'warn',
          message: `${problem}; its tokens can't be checked without them, and those of the broker work`,
        });
  return openJwtProvider(auth, { onProblem });
}

async function openTlsFiles(options: TlsFilesOptions): Promise<TlsFiles> {
  // Most brokers have none, and start sooner without it.
  const { TlsFiles } = await import('../tls/index.ts');
  return TlsFiles.open(options);
}
