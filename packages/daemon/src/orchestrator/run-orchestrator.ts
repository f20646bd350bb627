import { statSync } from 'node:fs';
import { type BrokerClient, type Log as ClientLog, connectBroker } from '@signalbox/client';
import type { Config } from '@signalbox/config';
import { type McpHost, startMcpHost } from '@signalbox/mcp-host';
import {
  type Journal,
  type Orchestrator,
  openSqliteJournal,
  startOrchestrator,
} from '@signalbox/orchestrator';
import { type Fault, noFault, SignalboxError } from '@signalbox/protocol';
import { dataDirectory, localBrokerUrl, orchestratorFiles } from '../data-directory/data-directory.ts';
import { type Log, type LogLevel, withLevels } from '../log.ts';
import { policyOf } from '../policy/policy.ts';
import { ConfigReload } from '../reload/config-reload.ts';
import { describeOrchestrator, type OrchestratorReport } from './orchestrator-report.ts';
import { ensureOrchestratorToken } from './orchestrator-token.ts';
import { openToolSources } from './tool-sources.ts';

/** The configuration that an orchestrator runs with, and how it reaches its broker. */
export interface RunOrchestratorOptions {
  config: Config;
  /** The file of `config`: it is watched, and its changes are put in force. Without it nothing is reloaded. */
  configFile?: string;
  /** The broker; by default the one that runs on the data directory, else the one at `broker.listen`. */
  url?: string;
  /** By default a token that is kept in the data directory, and issued with the operator's token if it is missing. */
  token?: string;
  /** Replaces `broker.data`. The journal and sign-ins are kept there. */
  dataDir?: string;
  log?: Log;
  /** Called at the named points at which tests let a process die. */
  fault?: Fault;
}

/** An orchestrator that runs in this process until it is disposed. */
export interface RunningOrchestrator extends AsyncDisposable {
  /** Resolves when every MCP server has answered or failed for the first time, and with what they offer. */
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
  server_reaped: 'warn',
  circuit_opened: 'warn',
  auth_needed: 'warn',
  arguments_coerced: 'debug',
  tool_problem: 'warn',
  request_panicked: 'error',
  inventory_failed: 'warn',
  announcement_failed: 'warn',
  journal_failed: 'error',
  other_journal_before: 'warn',
};

/**
 * Runs an orchestrator in this process: it hosts the configured MCP servers and serves their tools by role. Resolves when it
 * takes requests, which may be before its servers have started. Rejects with `bad_config`, `unreachable` or `unauthorized`.
 */
export async function runOrchestrator(options: RunOrchestratorOptions): Promise<RunningOrchestrator> {
  const { config, configFile, log = () => {} } = options;
  const dataDir = dataDirectory(options.dataDir, config);
  const url = options.url ?? localBrokerUrl(dataDir, config);
  await using starting = new AsyncDisposableStack();
  const { host, client, journal, orchestrator, reloadCapabilities } = await startParts(starting, {
    ...options,
    dataDir,
    url,
    log,
  });
  let reload: Promise<ConfigReload> | undefined;
  starting.defer(async () => (await reload)?.[Symbol.asyncDispose]());
  const resources = starting.move();

  async function becomeReady(): Promise<OrchestratorReport> {
    const inventory = await host.inventory();
    if (resources.disposed) throw closed();
    const report = { url, ...describeOrchestrator(host, inventory, config) };
    for (const message of report.warnings) log({ event: 'config_warning', level: 'warn', message });
    if (configFile !== undefined && isRegularFile(configFile)) {
      reload = ConfigReload.open(config, configFile, { host, orchestrator, reloadCapabilities, log });
      await reload;
    }
    return report;
  }

  const ready = becomeReady();
  // Nobody has to wait for it: a failure must not end the process as an unhandled rejection.
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

/** The parts of a running orchestrator that are needed after its start. */
interface Parts {
  host: McpHost;
  client: BrokerClient;
  journal: Journal;
  orchestrator: Orchestrator;
  reloadCapabilities: () => Promise<void>;
}

/** Starts journal, capability files, MCP host, connection and orchestrator, which end with the stack in reverse order. */
async function startParts(
  resources: AsyncDisposableStack,
  options: RunOrchestratorOptions & { dataDir: string; url: string; log: Log },
): Promise<Parts> {
  const { config, dataDir, url, log, fault = noFault } = options;
  const { id, concurrency, limits, callTimeoutMs, maxProcesses } = config.orchestrator;
  const { allowlist, repeat, mailbox, budgets, serverConcurrency } = policyOf(config, []);
  const token = options.token ?? (await ensureOrchestratorToken(dataDir, url, id));
  const events = withLevels(log, eventLevels);
  const journal = resources.use(
    await openSqliteJournal({
      file: orchestratorFiles(dataDir).journal,
      onDamage: (message) => log({ event: 'journal_damaged', level: 'error', message }),
    }),
  );
  const sources = resources.use(await openToolSources(config, dataDir, events));
  const host = resources.use(
    startMcpHost({
      servers: config.mcpServers,
      stateDir: dataDir,
      providers: sources.providers,
      authorizerFor: sources.authorizerFor,
      ...(maxProcesses !== undefined && { maxProcesses }),
      log: events,
    }),
  );
  const connectionLog: ClientLog = (event) => log({ level: 'debug', ...event });
  const client = resources.use(
    await connectBroker({ url, token, agent: id, backoff: 'orchestrator', log: connectionLog }),
  );
  logConnection(client, log);
  const orchestrator = resources.use(
    await startOrchestrator({
      client,
      host,
      allowlist,
      journal,
      repeat,
      mailbox,
      budgets,
      concurrency: { ...concurrency, servers: serverConcurrency },
      sizes: limits.calls,
      ...(callTimeoutMs !== undefined && { callTimeoutMs }),
      log: events,
      fault,
    }),
  );
  return { host, client, journal, orchestrator, reloadCapabilities: sources.reloadCapabilities };
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

/** Returns false for a pipe, which can be read only once. */
function isRegularFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? true;
}

function closed(): SignalboxError {
  return new SignalboxError('closed', 'the connection to the broker is closed', { retryable: true });
}
