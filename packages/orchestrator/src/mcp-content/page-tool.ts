import type { PageToolReply, PageToolRequest } from '@signalbox/protocol';
import type { Catalog } from '../catalog/catalog.ts';
import { findResource } from './route-mcp-content.ts';

/**
 * Finds the tools that pages of MCP Apps may mean by a name. A page calls the tools of its own server by that server's names. Only servers
 * of which `role` may read one of the pages count, and only tools that it may call.
 */
export function answerPageTool(
  { inventory, allowlist, mcpContentRules }: Pick<Catalog, 'inventory' | 'allowlist' | 'mcpContentRules'>,
  role: string,
  { name, pages }: PageToolRequest,
): { data: PageToolReply } {
  const { origins } = inventory;
  const servers = new Set<string>();
  for (const uri of pages) {
    const found = findResource(mcpContentRules, role, uri);
    if (!('refusal' in found)) servers.add(found.server);
  }
  const tools = [...origins].filter(
    ([full, origin]) =>
      origin.tool === name && servers.has(origin.server) && allowlist.allows(role, full, origin),
  );
  return { data: { tools: tools.map(([full]) => full) } };
}
