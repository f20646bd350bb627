import { isLoopback, type LimitOverrides, limitsOf, SignalboxError } from '@signalbox/protocol';
import { type Fault, noFault } from '@signalbox/serving';
import type { TlsPair } from '@signalbox/serving/tls';
import type { KeepBodies } from '@signalbox/store';
import type { GroupSettings } from './auth/groups.ts';
import type { IdentityProvider } from './auth/identity-provider.ts';
import type { RolePolicy } from './auth/role-policy.ts';
import { connectionsWithin, openFileLimit } from './limits/descriptor-limits.ts';
import { RoleLimits } from './limits/role-limits.ts';
import type { Log } from './log.ts';
import type { ScheduleSettings } from './schedules/schedule-settings.ts';
import type { StoresElsewhere } from './stores-elsewhere.ts';
import type { HookSettings } from './webhooks/hook-settings.ts';

/** The options of a broker. Times are in milliseconds. */
export interface BrokerOptions {
  /** The directory of the broker's files. It is created with mode 0700 if it is missing. Only one broker may run on it. */
  dataDir: string;
  /**
   * Files of other parts that are made only after a broker has run on the directory: if one of them exists, a missing database was lost.
   */
  madeLater?: readonly string[];
  /** The host name or address to listen on. Default: 127.0.0.1. A host beyond loopback needs `tls` or `insecure`. */
  host?: string;
  /** The port to listen on. Default: 7420. With 0 the system chooses a free one. */
  port?: number;
  /** The certificate and the key that encrypt connections to host and port. Without them, connections are not encrypted. */
  tls?: TlsPair;
  /**
   * The addresses of web pages that may connect, such as `https://signalbox.example.com`. A broker on loopback also accepts connections
   * that name their hosts, as a proxy passes them on.
   */
  trustedOrigins?: readonly string[];
  /** Checks the tokens that an identity provider issued. Without it the broker accepts only its own tokens. */
  identityProvider?: IdentityProvider;
  /** True to listen on a Unix socket in the data directory, beside host and port. Default: true. */
  socket?: boolean;
  /** The directory for the socket if the data directory can't hold it. Default: the value of `XDG_RUNTIME_DIR`. */
  runtimeDir?: string;
  /**
   * The meaning of a receipt. With `full`, the default, the message is synced to disk and survives a crash of the machine. With
   * `process` it is written and survives only the end of the process.
   */
  durability?: 'full' | 'process';
  /** The stores of messages, tokens and the audit log. Default: files in the data directory. */
  stores?: StoresElsewhere;
  /** The bodies that are kept for people to read after their messages were settled. Default: none. */
  keepBodies?: KeepBodies;
  /** The limits that differ from the protocol's defaults. */
  limits?: LimitOverrides;
  /** The limits of single roles that differ from those of all roles. */
  roleLimits?: Readonly<Record<string, LimitOverrides>>;
  /** Replaces the limit `connections.heartbeatMs`. */
  heartbeatMs?: number;
  /** Replaces the limit `connections.helloMs`. */
  helloTimeoutMs?: number;
  /** The rules of each role that differ from the default rules of a worker. */
  policies?: Readonly<Record<string, RolePolicy>>;
  /** The roles that the configuration names. Messages can be sent to `role:ROLE` before a token has the role. */
  roles?: readonly string[];
  /** The groups of the configuration, to which messages can be sent as `group:NAME`. */
  groups?: GroupSettings;
  /** The webhooks, by name. They receive messages by `POST /hooks/NAME`. */
  hooks?: HookSettings;
  /** The schedules, by name. The broker sends their messages itself. */
  schedules?: ScheduleSettings;
  /** The number of files and sockets that the process may open, which limits the connections. Default: the limit of the system. */
  openFiles?: number;
  /**
   * The callers who may read `/metrics` and `/readyz?verbose`. `token`, the default: callers with the token of an operator or observer.
   * `open`: everybody who reaches the broker, for a host on loopback.
   */
  metrics?: 'token' | 'open';
  /** Allows a host beyond loopback, although tokens and messages cross the network unencrypted. */
  insecure?: boolean;
  /** True: the broker continues with the rest of a data directory that has lost messages or tokens. By default the directory is refused. */
  acceptLoss?: boolean;
  /** The process id of the supervisor that restarts this process when it dies. `broker.json` names it. */
  supervisorPid?: number;
  /** The path of the configuration that the broker was started with. `broker.json` names it. */
  configFile?: string;
  /** Called at the named points at which tests make a process die. */
  fault?: Fault;
  /** Returns the time in epoch milliseconds. */
  now?: () => number;
  /** Returns monotonic milliseconds, which measure durations. Default: `performance.now()`. */
  monotonic?: () => number;
  /** Receives reports of the broker's events. */
  log?: Log;
}

/** The options without a default. */
type WithoutDefault =
  | 'supervisorPid'
  | 'configFile'
  | 'runtimeDir'
  | 'tls'
  | 'identityProvider'
  | 'stores'
  | 'keepBodies'
  | 'fault';

/** The options of a broker, with a default for each that was not given and has one. */
export type BrokerSettings = Required<Omit<BrokerOptions, 'limits' | 'roleLimits' | WithoutDefault>> &
  Pick<BrokerOptions, WithoutDefault> & {
    limits: RoleLimits;
  };

/** Adds the defaults to options. Throws `SignalboxError` `insecure_listen` for a host beyond loopback without `tls` and `insecure`. */
export function settingsOf({
  dataDir,
  madeLater = [],
  host = '127.0.0.1',
  port = 7420,
  tls,
  identityProvider,
  trustedOrigins = [],
  socket = true,
  runtimeDir = process.env.XDG_RUNTIME_DIR || undefined,
  durability = 'full',
  stores,
  keepBodies,
  limits,
  roleLimits,
  heartbeatMs = limitsOf(undefined, limits).connections.heartbeatMs,
  helloTimeoutMs = limitsOf(undefined, limits).connections.helloMs,
  policies = {},
  roles = [],
  groups = {},
  hooks = {},
  schedules = {},
  openFiles = openFileLimit(),
  metrics = 'token',
  insecure = false,
  acceptLoss = false,
  supervisorPid,
  configFile,
  fault,
  now = Date.now,
  monotonic = performance.now.bind(performance),
  log = () => {},
}: BrokerOptions): BrokerSettings {
  if (!isLoopback(host) && !tls && !insecure) {
    throw new SignalboxError(
      'insecure_listen',
      `listening on '${host}' would send tokens and messages unencrypted over the network; encrypt it with broker.tls, use 127.0.0.1, or accept it with --insecure`,
    );
  }
  if (metrics === 'open' && !isLoopback(host)) {
    throw new SignalboxError(
      'insecure_listen',
      `with 'broker.metrics: open' everybody who reaches '${host}' could read the metrics; listen on 127.0.0.1, or leave it out and give the scraper a token of an observer`,
    );
  }
  const connections = connectionsWithin(limitsOf(undefined, limits).connections, openFiles);
  return {
    dataDir,
    madeLater,
    host,
    port,
    ...(tls && { tls }),
    ...(identityProvider && { identityProvider }),
    trustedOrigins,
    socket,
    ...(runtimeDir !== undefined && { runtimeDir }),
    durability,
    ...(stores && { stores }),
    ...(keepBodies && { keepBodies }),
    limits: new RoleLimits(
      { ...limits, connections: { ...limits?.connections, ...connections } },
      roleLimits,
    ),
    heartbeatMs,
    helloTimeoutMs,
    policies,
    roles,
    groups,
    hooks,
    schedules,
    openFiles,
    metrics,
    insecure,
    acceptLoss,
    ...(supervisorPid !== undefined && { supervisorPid }),
    ...(configFile !== undefined && { configFile }),
    // No function is called at the points of a broker that nobody wants to fail.
    ...(fault && fault !== noFault && { fault }),
    now,
    monotonic,
    log,
  };
}
