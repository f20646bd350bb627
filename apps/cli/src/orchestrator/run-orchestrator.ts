import { join } from 'node:path';
import { type McpHost, startMcpHost } from '@signalbox/mcp-host';
import {
  allowlistWarnings,
  openSqliteJournal,
  RoleToolAllowlist,
  startOrchestrator,
} from '@signalbox/orchestrator';
import { SignalboxError, type Tool } from '@signalbox/protocol';
import { openClient } from '../client-session.ts';
import { type Config, findConfigFile, loadConfig } from '../config/load-config.ts';
import { brokerUrl, hasAgentEnvironment, namedToken } from '../connection.ts';
import { dataDirectory } from '../data-directory.ts';
import { faultFromEnvironment } from '../fault-environment.ts';
import { logInto, openLog } from '../log.ts';
import { stopRequested } from '../process-life.ts';
import { announceReady } from '../ready.ts';
import { ensureOrchestratorToken } from './orchestrator-token.ts';
import { type OrchestratorReady, orchestratorLines } from './report.ts';

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
  request_panicked: 'error',
  inventory_failed: 'warn',
  announcement_failed: 'warn',
  journal_failed: 'error',
  other_journal_before: 'warn',
} as const;

/** Hosts the configured servers and serves their tools until the process is asked to end or the broker refuses it. */
export async function runOrchestrator(flags: OrchestratorFlags): Promise<void> {
  const fault = faultFromEnvironment(process.env);
  const config = loadConfig(findConfigFile(flags.config));
  const url = brokerUrl(flags, config);
  const log = await openLog('orchestrator', 'info');
  const events = logInto(log, 'info', eventLevels);
  const stop = stopRequested();
  const { id, concurrency, callTimeoutMs, repeat } = config.orchestrator;
  const token = await orchestratorToken(flags, config, url);
  await using journal = await openSqliteJournal({
    file: join(dataDirectory(flags.data, config), 'journal.db'),
  });
  await using host = startMcpHost({ servers: config.mcpServers, log: events });
  await using client = await openClient({ url, token }, id, { backoff: 'orchestrator' });
  client.onState(({ name }) => {
    if (name === 'reconnecting') log.warn('lost the broker; connecting again');
    if (name === 'ready') log.info('connected to the broker');
  });
  const configured = RoleToolAllowlist.fromEntries(
    Object.entries(config.roles).map(([role, { tools }]) => [role, tools]),
    { unlisted: config.unlisted },
  );
  await using _orchestrator = await startOrchestrator({
    client,
    host,
    allowlist: withOperator(configured, config),
    journal,
    repeat,
    concurrency,
    ...(callTimeoutMs !== undefined && { callTimeoutMs }),
    log: events,
    fault,
  });
  const inventory = await Promise.race([host.inventory(), stop]);
  if (typeof inventory === 'string') return;
  const ready = { url, ...describe(host, inventory, configured, config) };
  for (const warning of ready.warnings) log.warn(warning);
  announceReady({ ...ready }, orchestratorLines(ready), flags);
  const end = await Promise.race([stop, client.closed.then((error) => error ?? closedByItself())]);
  if (end instanceof SignalboxError) throw end;
  log.info({ reason: end }, 'stopping');
}

/** The operator's own role sees every tool unless the config says otherwise: who issues all tokens could take any role. */
function withOperator(allowlist: RoleToolAllowlist, config: Config): RoleToolAllowlist {
  return config.roles.operator === undefined ? allowlist.withRole('operator', ['*']) : allowlist;
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

function describe(
  host: McpHost,
  inventory: { tools: Tool[]; problems: { server: string; tool?: string; message: string }[] },
  allowlist: RoleToolAllowlist,
  config: Config,
): Omit<OrchestratorReady, 'url'> {
  const names = inventory.tools.map((tool) => tool.name);
  return {
    servers: host.servers().map(({ name, state, toolCount }) => ({ name, state, tools: toolCount })),
    roles: Object.keys(config.roles).map((role) => ({
      role,
      tools: allowlist.filterManifest(role, inventory.tools).length,
    })),
    unlisted: config.unlisted,
    tools: names.length,
    problems: inventory.problems,
    warnings: [
      ...inventory.problems.map(
        ({ server, tool, message }) => `${tool ? `${server}: ${tool}` : server}: ${message}`,
      ),
      ...allowlistWarnings(allowlist, { tools: names }).map(({ message }) => message),
    ],
  };
}

function closedByItself(): SignalboxError {
  return new SignalboxError('closed', 'the connection to the broker is closed', { retryable: true });
}
