import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type BrokerClient, type Log as ClientLog, connectBroker } from '@signalbox/client';
import { listTokens } from '@signalbox/client/operator';
import { type McpHost, startMcpHost } from '@signalbox/mcp-host';
import { type Orchestrator, ResultStore, startOrchestrator } from '@signalbox/orchestrator';
import { hostRole, SignalboxError } from '@signalbox/protocol';
import { type Fault, noFault } from '@signalbox/serving';
import type { Tracing } from '@signalbox/serving/tracing';
import { type Journal, openSqliteJournal } from '@signalbox/store/journal';
import { brokerName, directoryId, restoredDatabase } from '../broker/postgres-stores.ts';
import type { Config } from '../config/index.ts';
import { formatListenAddress, strandedRoles, withExposureChecked } from '../config/internal.ts';
import { labelledConfig } from '../config/labelled-config.ts';
import {
  dataDirectory,
  labelDirectory,
  localBrokerUrl,
  orchestratorFiles,
} from '../data-directory/data-directory.ts';
import { type Log, type LogLevel, withLevels } from '../log.ts';
import { checkPolicy } from '../policy/policy.ts';
import { RulesInForce, startPolicy } from '../policy/rules-in-force.ts';
import { ConfigReload } from '../reload/config-reload.ts';
import { isSupervised } from '../supervisor/child-report.ts';
import {
  describeOrchestrator,
  describeStart,
  type OrchestratorReport,
  problemText,
  type ServerStart,
} from './orchestrator-report.ts';
import { connectOperator, ensureOrchestratorToken } from './orchestrator-token.ts';
import { RemoteHosts } from './remote-hosts.ts';
import { withoutRepetitions } from './repeated-events.ts';
import { openStatus } from './status/open-status.ts';
import { OrchestratorHealth } from './status/orchestrator-health.ts';
import { openToolSources } from './tool-sources.ts';

/** The configuration that an orchestrator runs with, and how it reaches its broker. */
export interface RunOrchestratorOptions {
  config: Config;
  /** The file of `config`: it is watched, and its changes are put in force. Without it nothing is reloaded. */
  configFile?: string;
  /** The broker's address; by default that of the broker of the data directory. */
  url?: string;
  /** Allows plain `ws://` to another machine, and `orchestrator.listen` beyond this one, although nothing is encrypted. */
  insecure?: boolean;
  /** The certificates of the only authorities to trust for `wss://`, as PEM text. */
  ca?: string;
  /** The orchestrator's token. By default it is kept in the data directory, and issued with the operator's token if it is missing. */
  token?: string;
  /** The label of an orchestrator that serves its tools to the one without a label; by default `orchestrator.host`. */
  label?: string;
  /** Replaces `broker.data`. The journal and sign-ins are kept there. */
  dataDir?: string;
  /** Files with tokens that are in use, which no hosted server may reach. The files in the data directory are known. */
  tokenFiles?: readonly string[];
  /** Starts although a hosted server can reach the data directory or a token file. */
  allowExposed?: boolean;
  /**
   * Called with the outcome of the first start of each MCP server as soon as it is known, and of each server that a reload adds or
   * changes.
   */
  onServerStart?: (start: ServerStart) => void;
  /** Aborting it ends a start that has not succeeded, which then rejects. It does not stop a running orchestrator. */
  signal?: AbortSignal;
  log?: Log;
  /** Makes spans of the messages and the tool calls. */
  tracing?: Tracing | undefined;
  /** Called at the named points at which tests let a process die. */
  fault?: Fault;
}

/** An orchestrator that runs in this process until it is disposed. */
export interface RunningOrchestrator extends AsyncDisposable {
  /** Resolves when every MCP server has answered or failed for the first time, and with what they list. */
  readonly ready: Promise<OrchestratorReport>;
  /** Resolves with the reason when the connection to the broker is closed for good, or the journal can't be written any more. */
  readonly ended: Promise<Error>;
  /** Reads the configuration file again, once the orchestrator is ready, and logs the outcome even if nothing changed. */
  reload(): Promise<void>;
}

const eventLevels: Readonly<Record<string, LogLevel>> = {
  server_noise: 'debug',
  server_lost: 'warn',
  server_backing_off: 'warn',
  server_ejected: 'error',
  server_refused: 'error',
  servers_not_named: 'warn',
  host_away: 'warn',
  host_servers_refused: 'warn',
  server_reaped: 'warn',
  detached_process_ended: 'warn',
  circuit_opened: 'warn',
  auth_needed: 'warn',
  capabilities_not_reloaded: 'warn',
  arguments_coerced: 'debug',
  tool_problem: 'warn',
  request_panicked: 'error',
  inventory_failed: 'warn',
  announcement_failed: 'warn',
  journal_failed: 'error',
  result_not_kept: 'error',
  kept_result_damaged: 'error',
  kept_result_unreadable: 'error',
  other_journal_before: 'warn',
  waits_for_other_orchestrator: 'info',
  takes_over: 'info',
  samples_damaged: 'warn',
  samples_not_written: 'warn',
  samples_not_taken: 'warn',
};

/** The events that a server which fails again and again, or a host that names others each time, causes each time. */
const repeatedEvents: ReadonlySet<string> = new Set([
  'server_ready',
  'server_lost',
  'server_backing_off',
  'server_noise',
  'host_servers_refused',
]);

/**
 * Runs an orchestrator in this process: it hosts the configured MCP servers and serves their tools by role. Resolves when it
 * takes requests, which may be before its servers have started. Rejects with `bad_config`, `exposed`, `insecure_listen`, `address_in_use`,
 * `cannot_listen`, `unreachable` or `unauthorized`.
 */
export async function runOrchestrator(options: RunOrchestratorOptions): Promise<RunningOrchestrator> {
  const { configFile, tokenFiles = [], allowExposed = false, log = () => {} } = options;
  const dataDir = dataDirectory(options.dataDir, options.config);
  const label = options.label ?? options.config.orchestrator.host;
  let admitted: Config;
  const admit = (read: Config): Config => {
    const own = label === undefined ? read : labelledConfig(read, label);
    admitted = withExposureChecked(own, { dataDir, tokenFiles }, { allowExposed });
    return admitted;
  };
  const config = admit(options.config);
  logWarnings(config.warnings, log);
  const url = options.url ?? localBrokerUrl(dataDir, config);
  await using starting = new AsyncDisposableStack();
  using start = untilDisposed(options.signal);
  const inForce = (): Config => admitted;
  const run = { ...options, label, config, inForce, dataDir, url, log, signal: start.signal };
  const health = new OrchestratorHealth();
  const listen = await listenForProbes(starting, run, health);
  const { host, client, journal, orchestrator, rules, reloadCapabilities } = await startParts(starting, run);
  health.started({ client, journal, orchestrator });
  starting.defer(() => health.draining());
  let reload: Promise<ConfigReload> | undefined;
  starting.defer(async () => (await reload)?.[Symbol.asyncDispose]());
  const resources = starting.move();

  async function becomeReady(): Promise<OrchestratorReport> {
    const inventory = await host.inventory();
    if (resources.disposed) throw closed();
    const { isServing } = orchestrator;
    const described = describeOrchestrator(host, inventory, config);
    const { label } = run;
    const own = { url, ...(listen && { listen }), isServing, ...(label !== undefined && { label }) };
    const report = { ...own, ...described };
    // Problems of servers have events of their own.
    const told = new Set([...config.warnings, ...report.problems.map(problemText)]);
    logWarnings(
      report.warnings.filter((message) => !told.has(message)),
      log,
    );
    const tellStranded = (config: Config): Promise<void> => logStrandedTokens(config, run);
    await tellStranded(config);
    if (resources.disposed) throw closed();
    if (configFile !== undefined && isRegularFile(configFile)) {
      reload = ConfigReload.open(config, configFile, {
        host,
        orchestrator,
        rules,
        reloadCapabilities,
        admit,
        tellStranded,
        log,
        isSupervised: isSupervised(),
      });
      await reload;
    }
    return report;
  }

  const ready = becomeReady();
  // Callers may ignore `ready`: its failure must not end the process as an unhandled rejection.
  ready.catch(() => {});
  return {
    ready,
    ended: Promise.race([client.closed.then((error) => error ?? closed()), journal.failed]),
    reload: async () => {
      await ready;
      if (reload) return await (await reload).reload();
      const message = 'there is no configuration file that could be read again';
      log({ event: 'nothing_to_reload', level: 'info', message });
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function logWarnings(warnings: readonly string[], log: Log): void {
  for (const message of warnings) log({ event: 'config_warning', level: 'warn', message });
}

/** The options, with the label if there is one. */
type LabelledOptions = Omit<RunOrchestratorOptions, 'label'> & { label: string | undefined };

/** Logs which tokens have roles that the configuration does not list. Without the operator's token nobody can know. */
async function logStrandedTokens(
  config: Config,
  {
    token,
    label,
    dataDir,
    url,
    insecure = false,
    ca,
    log,
  }: LabelledOptions & { dataDir: string; url: string; log: Log },
): Promise<void> {
  if (token !== undefined || label !== undefined || Object.keys(config.roles).length === 0) return;
  try {
    await using operator = await connectOperator({ dataDir, url, insecure, ca });
    for (const message of strandedRoles(await listTokens(operator), config))
      log({ event: 'config_warning', level: 'warn', message });
  } catch (error) {
    // The tokens are looked at again after the next change.
    log({ event: 'tokens_unknown', level: 'debug', error });
  }
}

/** Answers probes and scrapers from now on, if the configuration says where. Returns the address. */
async function listenForProbes(
  resources: AsyncDisposableStack,
  { config, insecure = false, url, ca, log }: LabelledOptions & { url: string; log: Log },
  health: OrchestratorHealth,
): Promise<string | undefined> {
  const { listen, id } = config.orchestrator;
  if (!listen) return undefined;
  const listener = await openStatus({ listen, insecure, id, broker: { url, ca }, health, log });
  const { port } = resources.use(listener);
  return formatListenAddress({ ...listen, port });
}

/** The parts of a running orchestrator that are needed after its start. */
interface Parts {
  host: McpHost;
  client: BrokerClient;
  journal: Journal;
  orchestrator: Orchestrator;
  rules: RulesInForce;
  reloadCapabilities: () => Promise<void>;
}

/** Starts journal, capability files, MCP host, connection and orchestrator, which end with the stack in reverse order. */
async function startParts(
  resources: AsyncDisposableStack,
  options: LabelledOptions & {
    inForce: () => Config;
    dataDir: string;
    url: string;
    log: Log;
    signal: AbortSignal;
  },
): Promise<Parts> {
  const { config, inForce, url, insecure = false, ca, log, signal, label } = options;
  const dataDir = label === undefined ? options.dataDir : labelDirectory(options.dataDir, label);
  if (options.token !== undefined) await checkToken(options, options.token);
  const { tracing, fault = noFault } = options;
  const { id, lane, concurrency, limits, callTimeoutMs, maxProcesses } = config.orchestrator;
  checkPolicy(config);
  const token =
    options.token ??
    (await ensureOrchestratorToken({
      ...{ dataDir: options.dataDir, url, insecure, ca, agent: id, file: orchestratorFiles(dataDir).token },
      role: label === undefined ? 'orchestrator' : hostRole,
    }));
  // Beside a broker on another machine it is new.
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  // Counted apart, so that a server that logs much hides nothing else about it.
  const messages = withoutRepetitions(withLevels(log, eventLevels), new Set(['server_message']));
  const events = withoutRepetitions(messages, repeatedEvents);
  const journal = resources.use(await openJournal(config, dataDir, log));
  const results = resources.use(
    await ResultStore.open({
      directory: orchestratorFiles(dataDir).results,
      limits: limits.results,
      log: events,
    }),
  );
  const sources = resources.use(await openToolSources(config, inForce, dataDir, events));
  const remote = resources.use(
    new RemoteHosts({
      connection: { url, insecure, ...(ca !== undefined && { ca }), token, agent: id, tracing },
      named: () => inForce().hosts,
      log: events,
    }),
  );
  const host = resources.use(
    startMcpHost({
      connectRemote: remote.connect,
      servers: config.mcpServers,
      stateDir: dataDir,
      pins: journal.pins,
      providers: sources.providers,
      authorizerFor: sources.authorizerFor,
      ...(maxProcesses !== undefined && { maxProcesses }),
      onFirstStart: (status, stderrTail) => options.onServerStart?.(describeStart(status, stderrTail)),
      log: events,
      tracing,
    }),
  );
  const connectionLog: ClientLog = (event) => log({ level: 'debug', ...event });
  const client = resources.use(
    await connectBroker({
      url,
      insecure,
      ...(ca !== undefined && { ca }),
      token,
      agent: id,
      // The broker that issued the token has just answered. If it does not answer now, it is only slow.
      waitForBroker: options.token === undefined,
      signal,
      log: connectionLog,
      tracing,
    }),
  );
  logConnection(client, log);
  const orchestrator = resources.use(
    await startOrchestrator({
      client,
      host,
      policy: startPolicy(config, host),
      journal,
      results,
      concurrency,
      sizes: limits.calls,
      ...(lane && { lanes: resolve(orchestratorFiles(dataDir).laneOf(id)) }),
      ...(callTimeoutMs !== undefined && { callTimeoutMs }),
      samplesFile: orchestratorFiles(dataDir).samplesOf(id),
      unreadFiles: () => inForce().unreadFiles,
      hosts: remote,
      isHost: label !== undefined,
      rules: `started: ${describeRules(config)}`,
      log: events,
      fault,
    }),
  );
  if (label === undefined) remote.follow(client);
  const rules = resources.use(new RulesInForce(config, host, orchestrator));
  return { host, client, journal, orchestrator, rules, reloadCapabilities: sources.reloadCapabilities };
}

/** Rejects if the broker refuses a token that was given, before files are made and servers started for it. */
async function checkToken(
  {
    config,
    url,
    insecure = false,
    ca,
    label,
    signal,
  }: Pick<Parameters<typeof startParts>[1], 'config' | 'url' | 'insecure' | 'ca' | 'label' | 'signal'>,
  token: string,
): Promise<void> {
  const { id: agent } = config.orchestrator;
  try {
    await using _client = await connectBroker({
      url,
      insecure,
      ...(ca !== undefined && { ca }),
      token,
      agent,
      signal,
    });
  } catch (thrown) {
    if (!(thrown instanceof SignalboxError) || thrown.code !== 'forged_sender') throw thrown;
    const hint =
      label === undefined
        ? 'if the token is that of a host, say which one: --host LABEL'
        : `a token for this host: signalbox token issue --host ${label} --out FILE`;
    throw new SignalboxError(thrown.code, thrown.message, {
      cause: thrown,
      details: { ...thrown.details, hint },
    });
  }
}

/** Opens the journal: beside the messages if these are in a database, or else in the data directory. */
async function openJournal(
  { broker, orchestrator: { id, limits: all } }: Config,
  dataDir: string,
  log: Log,
): Promise<Journal> {
  const { journal: limits } = all;
  if (!broker.store)
    return await openSqliteJournal({
      file: orchestratorFiles(dataDir).journal,
      limits,
      onDamage: (message) => log({ event: 'journal_damaged', level: 'error', message }),
    });
  // The driver is loaded only if the configuration names a database.
  const { openPostgresJournal } = await import('@signalbox/postgres/journal');
  const { postgres: url, schema } = broker.store;
  const directory = await directoryId(dataDir);
  const name = brokerName(`${id}-${hostname()}`, directory);
  return await openPostgresJournal({
    url,
    schema,
    limits,
    name,
    owner: `${hostname()} ${dataDir} ${directory}`,
    mark: {
      file: orchestratorFiles(dataDir).markOf(id),
      onRestored: (reason) => log(restoredDatabase(reason)),
    },
  });
}

/** Names servers and roles, with a hash of their rights. A hash that differs from that of the earlier start shows a change. */
function describeRules({ roles, unlisted, approvals, mcpServers, orchestrator }: Config): string {
  const rules = JSON.stringify([roles, unlisted, approvals, orchestrator]);
  const hash = createHash('sha256').update(rules).digest('hex').slice(0, 16);
  const names = (named: object) => Object.keys(named).join(', ') || 'none';
  return `the rules have the hash ${hash}; roles: ${names(roles)}; servers: ${names(mcpServers)}`;
}

function logConnection(client: BrokerClient, log: Log): void {
  client.onState(({ name }) => {
    if (name === 'reconnecting') {
      log({ event: 'broker_lost', level: 'warn', message: 'lost the broker; connecting again' });
    } else if (name === 'ready') {
      log({ event: 'broker_connected', level: 'info', message: 'connected to the broker' });
    }
  });
}

/** Returns a signal that aborts when `signal` does, until it is disposed. */
function untilDisposed(signal: AbortSignal | undefined): Disposable & { readonly signal: AbortSignal } {
  const aborting = new AbortController();
  const abort = (): void => aborting.abort();
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return { signal: aborting.signal, [Symbol.dispose]: () => signal?.removeEventListener('abort', abort) };
}

/** Returns false for a pipe, which can be read only once. */
function isRegularFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? true;
}

function closed(): SignalboxError {
  return new SignalboxError('closed', 'the connection to the broker is closed', { retryable: true });
}
