import { statSync } from 'node:fs';
import { join } from 'node:path';
import { startMcpHost } from '@signalbox/mcp-host';
import { openSqliteJournal, startOrchestrator } from '@signalbox/orchestrator';
import { SignalboxError } from '@signalbox/protocol';
import { openClient } from '../client-session.ts';
import type { Config } from '../config/config.ts';
import { configInForce, findConfigFile } from '../config/config-in-force.ts';
import { brokerUrl, hasAgentEnvironment, namedToken } from '../connection.ts';
import { dataDirectory } from '../data-directory.ts';
import { faultFromEnvironment } from '../fault-environment.ts';
import { logInto, openLog } from '../log.ts';
import { stopRequested } from '../process-life.ts';
import { announceReady } from '../ready.ts';
import { describeOrchestrator } from './describe.ts';
import type { LiveConfig, LiveParts } from './live-config.ts';
import { ensureOrchestratorToken } from './orchestrator-token.ts';
import { policyOf } from './policy.ts';
import { orchestratorLines } from './report.ts';
import { openToolSources } from './tool-sources.ts';

export interface OrchestratorFlags {
  config?: string;
  url?: string;
  tokenFile?: string;
  data?: string;
  json?: boolean;
}

const eventLevels = {
  server_noise: 'debug',
  server_lost: 'warn',
  server_backing_off: 'warn',
  server_ejected: 'error',
  server_reaped: 'warn',
  circuit_opened: 'warn',
  auth_needed: 'warn',
  arguments_coerced: 'debug',
  request_panicked: 'error',
  inventory_failed: 'warn',
  announcement_failed: 'warn',
  journal_failed: 'error',
  other_journal_before: 'warn',
} as const;

/** Hosts the configured servers and serves their tools until the process is asked to end or the broker refuses it. */
export async function runOrchestrator(flags: OrchestratorFlags): Promise<void> {
  const fault = faultFromEnvironment(process.env);
  const file = findConfigFile(flags.config);
  const config = await configInForce(file);
  const policy = policyOf(config, []);
  const url = brokerUrl(flags, config);
  const log = await openLog('orchestrator', 'info');
  const events = logInto(log, 'info', eventLevels);
  let onHangup = () => log.warn('still starting; SIGHUP is for later');
  const stop = stopRequested({ onHangup: () => onHangup() });
  const token = await orchestratorToken(flags, config, url);
  const dataDir = dataDirectory(flags.data, config);
  await using journal = await openSqliteJournal({ file: join(dataDir, 'journal.db') });
  const { id, concurrency, callTimeoutMs, maxProcesses } = config.orchestrator;
  await using sources = await openToolSources(config, dataDir, events);
  const { providers, authorizerFor, reloadCapabilities } = sources;
  await using host = startMcpHost({
    servers: config.mcpServers,
    stateDir: dataDir,
    providers,
    authorizerFor,
    ...(maxProcesses !== undefined && { maxProcesses }),
    log: events,
  });
  await using client = await openClient({ url, token }, id, { backoff: 'orchestrator' });
  client.onState(({ name }) => {
    if (name === 'reconnecting') log.warn('lost the broker; connecting again');
    if (name === 'ready') log.info('connected to the broker');
  });
  const { allowlist, repeat, mailbox, budgets, serverConcurrency } = policy;
  await using orchestrator = await startOrchestrator({
    client,
    host,
    allowlist,
    journal,
    repeat,
    mailbox,
    budgets,
    concurrency: { ...concurrency, servers: serverConcurrency },
    ...(callTimeoutMs !== undefined && { callTimeoutMs }),
    log: events,
    fault,
  });
  const inventory = await Promise.race([host.inventory(), stop]);
  if (typeof inventory === 'string') return;
  const ready = { url, ...describeOrchestrator(host, inventory, config) };
  for (const warning of ready.warnings) log.warn(warning);
  await using live =
    file === undefined || !isKept(file)
      ? undefined
      : await openLiveConfig(config, file, { host, orchestrator, reloadCapabilities, log });
  onHangup = () => {
    if (live) void live.reload();
    else log.info('there is no configuration file that could be read again');
  };
  announceReady({ ...ready }, orchestratorLines(ready), flags);
  const end = await Promise.race([stop, client.closed.then((error) => error ?? closedByItself())]);
  if (end instanceof SignalboxError) throw end;
  log.info({ reason: end }, 'stopping');
}

/** Loaded only where there is a file. */
async function openLiveConfig(config: Config, file: string, parts: LiveParts): Promise<LiveConfig> {
  const { LiveConfig } = await import('./live-config.ts');
  return await LiveConfig.open(config, file, parts);
}

/** A pipe can be read only once. */
function isKept(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? true;
}

async function orchestratorToken(flags: OrchestratorFlags, config: Config, url: string): Promise<string> {
  const named = namedToken(flags, process.env);
  if (named) return named.token;
  if (!hasAgentEnvironment(process.env)) {
    return await ensureOrchestratorToken(dataDirectory(flags.data, config), url, config.orchestrator.id);
  }
  throw new SignalboxError('usage', 'SIGNALBOX_AGENT is set, so no token is issued with the operator’s', {
    details: { hint: 'pass the orchestrator’s token with --token-file, or unset SIGNALBOX_AGENT' },
  });
}

function closedByItself(): SignalboxError {
  return new SignalboxError('closed', 'the connection to the broker is closed', { retryable: true });
}
