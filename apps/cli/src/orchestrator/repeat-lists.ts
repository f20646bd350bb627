import { mcpToolName } from '@signalbox/mcp-host';
import { type RepeatLists, RoleToolAllowlist } from '@signalbox/orchestrator';
import { SignalboxError } from '@signalbox/protocol';
import type { Config } from '../config/config.ts';

/** A tool that is offered under another name than its server's and its own make, or under its own (`prefix: false`). */
export interface RenamedTool {
  server: string;
  /** As its server named it. */
  tool: string;
  /** As it is offered. */
  name: string;
}

/**
 * The operator's words on repeating, by the names under which tools are offered: the orchestrator's lists, and those of
 * each server. Throws `bad_config` for a server whose lists could reach into another server's tools.
 */
export function repeatLists(
  config: Pick<Config, 'mcpServers' | 'serverRepeat' | 'orchestrator' | 'origins'>,
  renamed: readonly RenamedTool[],
): RepeatLists {
  const { safe = [], never = [] } = config.orchestrator.repeat;
  const lists = { safe: new Set(safe), never: new Set(never) };
  for (const [server, words] of Object.entries(config.serverRepeat)) {
    const hasPrefix = config.mcpServers[server]?.prefix !== false;
    if (hasPrefix) checkApart(config, server);
    for (const word of ['safe', 'never'] as const) {
      for (const pattern of words[word] ?? []) {
        if (hasPrefix) lists[word].add(offeredPattern(server, pattern));
        // A name alone may be another server's tool, for which only the cautious word does no harm.
        else if (word === 'never' && !pattern.includes('*')) lists.never.add(ownName(pattern));
      }
      for (const other of renamed) {
        if (other.server === server && matches(words[word], other.tool)) lists[word].add(other.name);
      }
    }
  }
  return { safe: [...lists.safe], never: [...lists.never] };
}

/** A server's own tool name, or a pattern of such, as it reads in names on offer. */
function offeredPattern(server: string, own: string): string {
  if (!own.includes('*')) return mcpToolName(server, own);
  return prefixOf(server) + own.split('*').map(ownName).join('*');
}

function matches(patterns: readonly string[] = [], tool: string): boolean {
  return RoleToolAllowlist.fromEntries([['list', patterns]]).allows('list', tool);
}

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

/** A tool's own name with the characters that tool names may have. */
function ownName(tool: string): string {
  return wholeName('', tool).slice(prefixOf('').length);
}

function prefixOf(server: string): string {
  return wholeName(server, '');
}

function wholeName(server: string, tool: string): string {
  return mcpToolName(server, tool, Number.POSITIVE_INFINITY);
}
