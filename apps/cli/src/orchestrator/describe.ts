import type { Inventory, McpHost } from '@signalbox/mcp-host';
import { allowlistWarnings } from '@signalbox/orchestrator';
import type { Config } from '../config/config.ts';
import { configuredAllowlist } from './policy.ts';
import type { OrchestratorReady } from './report.ts';

/** What there is to say of an orchestrator whose first inventory is there. */
export function describeOrchestrator(
  host: McpHost,
  inventory: Inventory,
  config: Config,
): Omit<OrchestratorReady, 'url'> {
  const allowlist = configuredAllowlist(config);
  const { tools, hidden, renamed, problems } = inventory;
  const names = [...tools, ...hidden].map((tool) => tool.name);
  return {
    servers: host.servers().map(({ name, state, toolCount }) => ({ name, state, tools: toolCount })),
    roles: Object.keys(config.roles).map((role) => ({
      role,
      tools: allowlist.filterManifest(role, tools).length,
    })),
    unlisted: config.unlisted,
    tools: tools.length,
    renamed,
    hidden: hidden.map(({ name }) => ({ name, server: host.route(name)?.server ?? '' })),
    problems,
    warnings: [
      ...config.warnings,
      ...problems.map(({ server, tool, message }) => `${tool ? `${server}: ${tool}` : server}: ${message}`),
      ...allowlistWarnings(allowlist, { tools: names }).map(({ message }) => message),
    ],
  };
}
