import type { MissingServer } from '@signalbox/mcp-host';
import { type MatrixReply, permissionsOfRole } from '@signalbox/protocol';
import { explainAsk } from '../approvals/ask-rules.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { notReadyOf } from '../catalog/missing-servers.ts';
import { certainWarnings } from '../roles/allowlist-warnings.ts';

/** The most warnings in one reply. */
const maxWarnings = 100;

/**
 * Says of every tool that is shown which listed roles may call it, and for which of them a person is asked. Names the servers that have
 * listed no tools yet, and the patterns of roles that match nothing.
 */
export function matrixOf(catalog: Catalog, missing: readonly MissingServer[]): MatrixReply {
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
  const notReady = notReadyOf(missing);
  const warnings = policyWarnings(catalog, missing);
  return {
    roles,
    unlisted: !allowlist.isRestricted(undefined),
    tools,
    ...(notReady.length > 0 && { not_ready: notReady }),
    ...(warnings.length > 0 && { warnings }),
  };
}

/** Returns the warnings about the patterns of roles, as many as a reply names. */
export function policyWarnings(catalog: Catalog, missing: readonly MissingServer[]): string[] {
  return certainWarnings(catalog.unmatched(), catalog.inventory, missing).slice(0, maxWarnings);
}
