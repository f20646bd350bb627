import type { Inventory } from '@signalbox/mcp-host';
import { isJsonObject, isPageUri, normalUri, type Tool } from '@signalbox/protocol';
import type { RoleToolAllowlist } from '../roles/role-tool-allowlist.ts';

/** The pages of MCP Apps that tools name. A page belongs to its tool, even if no list of its server names it. */
export interface ToolPages {
  /** Returns the name of a tool that shows a page of a server, if the role may call it. */
  toolOf(role: string, server: string, uri: string): string | undefined;
  /** Returns the spelling in which tools of a server name a page. */
  spellingOf(server: string, uri: string): string | undefined;
}

/** Stands for the pages of servers without tools. */
export const noPages: ToolPages = { toolOf: () => undefined, spellingOf: () => undefined };

/** Finds the pages of all tools, under the allowlist that decides who may call these. */
export function toolPages(
  { tools, hidden, origins }: Inventory,
  allowlist: Pick<RoleToolAllowlist, 'allows'>,
): ToolPages {
  const named = new Map<string, { spelled: string; names: string[] }>();
  for (const tool of [...tools, ...hidden]) {
    const server = origins.get(tool.name)?.server;
    const spelled = pageOf(tool);
    if (server === undefined || spelled === undefined) continue;
    const page = named.get(keyOf(server, spelled)) ?? { spelled, names: [] };
    page.names.push(tool.name);
    named.set(keyOf(server, spelled), page);
  }
  return {
    toolOf: (role, server, uri) =>
      named.get(keyOf(server, uri))?.names.find((name) => allowlist.allows(role, name, origins.get(name))),
    spellingOf: (server, uri) => named.get(keyOf(server, uri))?.spelled,
  };
}

function keyOf(server: string, uri: string): string {
  return `${normalUri(uri)} ${server}`;
}

/** The field of a tool's `_meta` that names its page in earlier revisions of MCP Apps. */
const earlierField = 'ui/resourceUri';

/** Returns the URI of the page that a tool names. */
export function pageOf({ _meta: meta = {} }: Tool): string | undefined {
  const uri = (isJsonObject(meta.ui) && meta.ui.resourceUri) || meta[earlierField];
  return typeof uri === 'string' && isPageUri(uri) ? uri : undefined;
}

/** Returns a tool that names this page, in each field that names one. */
export function withPage(tool: Tool, uri: string): Tool {
  const { _meta: meta = {} } = tool;
  const { ui } = meta;
  return {
    ...tool,
    _meta: {
      ...meta,
      ...(isJsonObject(ui) && ui.resourceUri !== undefined && { ui: { ...ui, resourceUri: uri } }),
      ...(meta[earlierField] !== undefined && { [earlierField]: uri }),
    },
  };
}
