import type { Inventory, McpHost, ServerStatus, StartFailure } from '@signalbox/mcp-host';
import { patternWarnings } from '@signalbox/orchestrator/internal';
import type { Config } from '../config/index.ts';
import { configuredAllowlist, configuredMcpContent, policyOf } from '../policy/policy.ts';

/** The facts about an orchestrator whose servers have all answered or failed for the first time. */
export interface OrchestratorReport {
  /** The broker that it is connected to. */
  url: string;
  /** The address at which it answers probes and scrapers itself, as `HOST:PORT`; absent if it does not. */
  listen?: string;
  /** False if another orchestrator with the same journal serves the inbox. This one serves when the other one has ended. */
  isServing: boolean;
  servers: { name: string; state: string; tools: number; error?: string }[];
  /** The servers that have listed no tools yet: they are still starting, or their start has failed. */
  notReady: { server: string; state: 'starting' | 'away' | 'failed'; reason?: string }[];
  /** The label of an orchestrator whose tools another one serves, by its rules; absent for that other one. */
  label?: string;
  roles: { role: string; tools: number }[];
  /** Says whether roles without an entry may use every tool or none. */
  unlisted: 'allow' | 'deny';
  tools: number;
  /** Tools that are shown under another name than usual, which joins the names of server and tool. */
  renamed: { server: string; tool: string; name: string; reason: string }[];
  /** Tools that are callable by their exact names and are in no list. */
  hidden: { name: string; server: string }[];
  problems: { server: string; tool?: string; message: string }[];
  warnings: string[];
}

/** Describes an orchestrator by its first inventory. */
export function describeOrchestrator(
  host: McpHost,
  inventory: Inventory,
  config: Config,
): Omit<OrchestratorReport, 'url' | 'listen' | 'isServing' | 'label'> {
  const allowlist = configuredAllowlist(config);
  const { tools, hidden, origins, renamed, problems } = inventory;
  const missing = host.missing();
  const policy = { ...policyOf(config, renamed), allowlist, mcpContent: configuredMcpContent(config) };
  return {
    servers: host.servers().map(({ name, state, toolCount, lastError }) => ({
      name,
      state,
      tools: toolCount,
      ...(state !== 'ready' && lastError !== undefined && { error: lastError }),
    })),
    notReady: missing.map(({ prefix, ...server }) => server),
    roles: Object.keys(config.roles).map((role) => ({
      role,
      tools: allowlist.filterManifest(role, tools, origins).length,
    })),
    unlisted: config.unlisted,
    tools: tools.length,
    renamed,
    hidden: hidden.map(({ name }) => ({ name, server: host.route(name)?.server ?? '' })),
    problems,
    warnings: [
      ...config.warnings,
      ...problems.map(problemText),
      ...patternWarnings(policy, inventory, missing),
    ],
  };
}

/** Writes a problem of a server, or of one of its tools, as a warning. */
export function problemText({ server, tool, message }: Inventory['problems'][number]): string {
  return `${tool ? `${server}: ${tool}` : server}: ${message}`;
}

/** The outcome of the first start of a server. It is free of secrets, and for operators only. */
export interface ServerStart {
  server: string;
  state: string;
  tools: number;
  error?: string;
  failure?: StartFailure;
  /** The last lines of its standard error, of a server that is not ready. */
  stderr: string;
}

/** The characters of standard error that show why a start failed. */
const shownStderr = 4000;

/** Describes the first start of a server. */
export function describeStart(status: ServerStatus, stderrTail: string): ServerStart {
  const { name: server, state, toolCount: tools, lastError, startFailure } = status;
  if (state === 'ready') return { server, state, tools, stderr: '' };
  return {
    server,
    state,
    tools,
    ...(lastError !== undefined && { error: lastError }),
    ...(startFailure && { failure: startFailure }),
    stderr: stderrTail.slice(-shownStderr),
  };
}
