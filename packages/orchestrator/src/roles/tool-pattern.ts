import type { ToolOrigin } from '@signalbox/mcp-host';
import { matchesPattern } from '@signalbox/protocol';

/**
 * Whether a pattern of the configuration means this tool. A pattern with a colon, `server:tool`, is about the server's name in the
 * configuration and the server's own name of the tool; any other is about the name by which agents call it.
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
