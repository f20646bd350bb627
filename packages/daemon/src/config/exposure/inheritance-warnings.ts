import type { McpServerConfig } from '@signalbox/mcp-host';
import { inheritedVariables, ownPrefix, unmatchedVariablePatterns } from '@signalbox/mcp-host/rules';
import { matchesPattern } from '@signalbox/protocol';
import type { Config } from '../config.ts';

/**
 * Warns of each pattern of `inheritEnv` that matches no variable of `ours`, of each variable that a pattern matches and that is
 * withheld because it looks like a secret, and of each variable of `env` that no server gets. No warning holds a value.
 */
export function inheritanceWarnings(
  { mcpServers }: Pick<Config, 'mcpServers'>,
  ours: NodeJS.ProcessEnv = process.env,
): string[] {
  return Object.entries(mcpServers).flatMap(([name, server]) =>
    [...ownVariables(server), ...warningsOf(server, ours)].map((text) => `mcpServers.${name}.${text}`),
  );
}

function ownVariables(server: McpServerConfig): string[] {
  if (server.type !== 'stdio' || server.disabled) return [];
  const names = Object.keys(server.env ?? {}).filter((name) => name.startsWith(ownPrefix));
  return names.map(
    (name) =>
      `env: ${name} is left out: no server gets variables named ${ownPrefix}…, which hold tokens; take it out, or rename it if the server reads another name`,
  );
}

function warningsOf(server: McpServerConfig, ours: NodeJS.ProcessEnv): string[] {
  if (server.type !== 'stdio' || !server.inheritEnv || server.disabled) return [];
  const { inheritEnv } = server;
  const { withheld } = inheritedVariables(inheritEnv, ours);
  return [
    ...unmatchedVariablePatterns(inheritEnv, ours).map(
      (pattern) =>
        `inheritEnv: '${pattern}' matches no variable of this process; set it where the orchestrator is started, or take it out`,
    ),
    ...withheld.flatMap((name) => {
      const pattern = inheritEnv.find((one) => matchesPattern(one, name));
      if (pattern === undefined) return [];
      return [
        `inheritEnv: '${pattern}' leaves out ${name}, which looks like a secret; list the exact name if the server needs it`,
      ];
    }),
  ];
}
