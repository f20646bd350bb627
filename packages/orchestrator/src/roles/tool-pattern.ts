import type { ToolOrigin } from '@signalbox/mcp-host';
import { toolNameStart } from '@signalbox/mcp-host/internal';
import { matchesPattern } from '@signalbox/protocol';
import { mayMatchStart } from '@signalbox/protocol/internal';

/**
 * Tells whether a pattern of the configuration matches this tool. A pattern with a colon, `server:tool`, is compared with the server's name
 * in the configuration and the server's own name of the tool; any other is compared with the name by which agents call it.
 */
export function matchesTool(pattern: string, name: string, origin: ToolOrigin | undefined): boolean {
  const colon = pattern.indexOf(':');
  if (colon < 0) return matchesPattern(pattern, name);
  if (!origin) return false;
  return (
    matchesPattern(pattern.slice(0, colon), origin.server) &&
    matchesPattern(pattern.slice(colon + 1), origin.tool)
  );
}

/**
 * Tells whether a pattern could match a tool of this server. The tools of the server need not be known. Without `prefix`, they have their
 * own names.
 */
export function mayMeanToolOf(
  pattern: string,
  { server, prefix }: { server: string; prefix: boolean },
): boolean {
  const colon = pattern.indexOf(':');
  if (colon >= 0) return matchesPattern(pattern.slice(0, colon), server);
  return mayMatchStart(pattern, toolNameStart(server)) || (!prefix && !pattern.startsWith('mcp_'));
}
