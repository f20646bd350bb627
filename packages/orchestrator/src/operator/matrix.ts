import { type MatrixReply, permissionsOfRole } from '@signalbox/protocol';
import { explainAsk } from '../approvals/ask-rules.ts';
import type { Catalog } from '../catalog/catalog.ts';

/** Says of every tool that is shown which listed roles may call it, and for which of them a person is asked. */
export function matrixOf(catalog: Catalog): MatrixReply {
  const { allowlist, approvals } = catalog;
  const { origins } = catalog.inventory;
  // People call tools by their own right.
  const listed = [...allowlist.entries()].map(([role]) => role);
  const roles = listed.filter((role) => permissionsOfRole(role).length === 0).sort();
  const tools = catalog.everything().tools.map((tool) => {
    const origin = origins.get(tool.name);
    const may = roles.filter((role) => allowlist.allows(role, tool.name, origin));
    const asked = (how: 'yes' | 'by_arguments'): string[] =>
      may.filter((role) => explainAsk(approvals, role, { tool, origin }).ask === how);
    return {
      tool: tool.name,
      ...(origin && { server: origin.server, own: origin.tool }),
      may,
      asks: asked('yes'),
      may_ask: asked('by_arguments'),
    };
  });
  return { roles, unlisted: !allowlist.isRestricted(undefined), tools };
}
