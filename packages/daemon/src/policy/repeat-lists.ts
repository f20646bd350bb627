import { mcpToolName } from '@signalbox/mcp-host';
import { type RepeatLists, RoleToolAllowlist } from '@signalbox/orchestrator';
import { SignalboxError } from '@signalbox/protocol';
import type { Config } from '../config/index.ts';

/** A tool whose shown name is not made of its server's and its own name. */
export interface RenamedTool {
  server: string;
  /** The name that its server gave it. */
  tool: string;
  /** The name under which it is shown. */
  name: string;
}

/**
 * Merges the orchestrator's lists of tools that may or must not be called again with those of each server, by the names
 * under which tools are shown. Throws `bad_config` for a server whose lists could reach into another server's tools.
 */
export function repeatLists(
  config: Pick<Config, 'mcpServers' | 'serverRepeat' | 'orchestrator' | 'origins'>,
  renamed: readonly RenamedTool[],
): RepeatLists {
  const { safe = [], never = [] } = config.orchestrator.repeat;
  const lists = { safe: new Set(safe), never: new Set(never) };
  for (const [server, own] of Object.entries(config.serverRepeat)) {
    const hasPrefix = config.mcpServers[server]?.prefix !== false;
    if (hasPrefix) checkApart(config, server);
    for (const list of ['safe', 'never'] as const) {
      for (const pattern of own[list] ?? []) {
        if (hasPrefix) lists[list].add(shownPattern(server, pattern));
        // Without a prefix the name may belong to another server's tool, for which only `never` does no harm.
        else if (list === 'never' && !pattern.includes('*')) lists.never.add(ownName(pattern));
      }
      for (const other of renamed) {
        if (other.server === server && matches(own[list], other.tool)) lists[list].add(other.name);
      }
    }
  }
  return { safe: [...lists.safe], never: [...lists.never] };
}

/** Translates a server's own tool name, or a pattern, into shown names. */
function shownPattern(server: string, own: string): string {
  if (!own.includes('*')) return mcpToolName(server, own);
  return prefixOf(server) + own.split('*').map(ownName).join('*');
}

function matches(patterns: readonly string[] = [], tool: string): boolean {
  return RoleToolAllowlist.fromEntries([['list', patterns]]).allows('list', tool);
}

/** Throws `bad_config` if the names of another server's tools begin like those of this server. */
function checkApart({ mcpServers, origins }: Pick<Config, 'mcpServers' | 'origins'>, server: string): void {
  const rival = Object.keys(mcpServers).find(
    (other) => other !== server && prefixOf(other).startsWith(prefixOf(server)),
  );
  if (rival === undefined) return;
  throw new SignalboxError(
    'bad_config',
    `${origins[server]?.file ?? '(config)'}: mcpServers.${server}: its safeToRepeat and neverRepeat cannot be told apart from tools of '${rival}'; rename one of the two servers`,
  );
}

/** Returns a tool's own name with the characters that shown names may have. */
function ownName(tool: string): string {
  return wholeName('', tool).slice(prefixOf('').length);
}

function prefixOf(server: string): string {
  return wholeName(server, '');
}

function wholeName(server: string, tool: string): string {
  return mcpToolName(server, tool, Number.POSITIVE_INFINITY);
}
