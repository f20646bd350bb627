import type { Config } from '@signalbox/config';
import type { Inventory, McpHost } from '@signalbox/mcp-host';
import { allowlistWarnings } from '@signalbox/orchestrator';
import { configuredAllowlist } from '../policy/policy.ts';

/** The facts about an orchestrator whose servers have all answered or failed for the first time. */
export interface OrchestratorReport {
  /** The broker that it is connected to. */
  url: string;
  servers: { name: string; state: string; tools: number }[];
  roles: { role: string; tools: number }[];
  /** Whether roles without an entry may use every tool or none. */
  unlisted: 'allow' | 'deny';
  tools: number;
  /** Tools that are offered under another name than the one made of their server's and their own. */
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
): Omit<OrchestratorReport, 'url'> {
  const allowlist = configuredAllowlist(config);
  const { tools, hidden, origins, renamed, problems } = inventory;
  const names = [...tools, ...hidden].map((tool) => tool.name);
  return {
    servers: host.servers().map(({ name, state, toolCount }) => ({ name, state, tools: toolCount })),
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
      ...problems.map(({ server, tool, message }) => `${tool ? `${server}: ${tool}` : server}: ${message}`),
      ...allowlistWarnings(allowlist, { tools: names, origins }).map(({ message }) => message),
    ],
  };
}
