import type { McpServerConfig } from '@signalbox/mcp-host';
import { inheritedVariables, unmatchedVariablePatterns } from '@signalbox/mcp-host/rules';
import { matchesPattern } from '@signalbox/protocol';
import type { Config } from '../config.ts';

/**
 * Warns of each pattern of `inheritEnv` that matches no variable of `ours`, and of each variable that a pattern matches
 * and that is withheld because it looks like a secret. No warning holds a value.
 */
export function inheritanceWarnings(
  { mcpServers }: Pick<Config, 'mcpServers'>,
  ours: NodeJS.ProcessEnv = process.env,
): string[] {
  return Object.entries(mcpServers).flatMap(([name, server]) =>
    warningsOf(server, ours).map((text) => `mcpServers.${name}.inheritEnv: ${text}`),
  );
}

function warningsOf(server: McpServerConfig, ours: NodeJS.ProcessEnv): string[] {
  if (server.type !== 'stdio' || !server.inheritEnv || server.disabled) return [];
  const { inheritEnv } = server;
  const { withheld } = inheritedVariables(inheritEnv, ours);
  return [
    ...unmatchedVariablePatterns(inheritEnv, ours).map(
      (pattern) =>
        `'${pattern}' matches no variable of this process; set it where the orchestrator is started, or take it out`,
    ),
    ...withheld.flatMap((name) => {
      const pattern = inheritEnv.find((one) => matchesPattern(one, name));
      if (pattern === undefined) return [];
      return [
        `'${pattern}' leaves out ${name}, which looks like a secret; list the exact name if the server needs it`,
      ];
    }),
  ];
}
