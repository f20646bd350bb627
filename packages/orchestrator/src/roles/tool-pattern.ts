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

/** What a role may use: the name of a tool, a pattern, or all tools that pinned definitions call read-only. */
export type ToolRule = string | { annotations: 'readOnly' };

/** Tells whether a rule of a role allows this tool. */
export function allowsTool(rule: ToolRule, name: string, origin: ToolOrigin | undefined): boolean {
  return typeof rule === 'string' ? matchesTool(rule, name, origin) : origin?.readOnly === true;
}

/** Writes a rule as the configuration has it. */
export function ruleText(rule: ToolRule): string {
  return typeof rule === 'string' ? `'${rule}'` : `{ annotations: ${rule.annotations} }`;
}

/**
 * Tells whether a pattern could match a tool of this server. The tools of the server need not be known. Without `prefix`, they have their
 * own names.
 */
export function mayMeanToolOf(
  pattern: ToolRule,
  { server, prefix }: { server: string; prefix: boolean },
): boolean {
  if (typeof pattern !== 'string') return true;
  const colon = pattern.indexOf(':');
  if (colon >= 0) return matchesPattern(pattern.slice(0, colon), server);
  return mayMatchStart(pattern, toolNameStart(server)) || (!prefix && !pattern.startsWith('mcp_'));
}
