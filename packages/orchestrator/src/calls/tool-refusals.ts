import { type Inventory, mcpToolName, parseMcpToolName, type ToolOrigin } from '@signalbox/mcp-host';
import { definitionChangedError } from '@signalbox/mcp-host/internal';
import { type McpReply, type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import { nearestToolHint } from '@signalbox/protocol/internal';
import { serverPart } from '@signalbox/serving';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';

interface Admitted {
  tool: Tool;
  refusal?: undefined;
  isForbidden?: undefined;
}

interface Refused {
  tool?: undefined;
  refusal: ToolCallError;
  isForbidden: boolean;
}

/**
 * Returns the tool if `role` may call it now, or else the error for the caller. The error for a forbidden tool is the same whether the tool
 * exists or not, and it suggests only tools that the role sees. `isForbidden` says whether the allowlist allows it: a rule by annotations
 * can't before the server has listed the tool. `runs` is set for the next round of a running call: that may continue even if the definition
 * of its tool is withheld by now.
 */
export function admit(
  catalog: Catalog,
  role: string,
  name: string,
  { runs = false }: { runs?: boolean } = {},
): Admitted | Refused {
  const view = catalog.view(role);
  // A view holds only tools that the allowlist allows.
  const listed = view.find(name);
  if (listed) return { tool: listed };
  const { inventory } = catalog;
  const isAllowed = catalog.allowlist.allows(
    role,
    name,
    inventory.origins.get(name) ?? missingOrigin(inventory, name),
  );
  const tool = isAllowed ? catalog.tool(name) : undefined;
  if (tool) return { tool };
  const names = view.tools.map((known) => known.name);
  const options = { mayHaveRun: runs, hint: nearestToolHint(name, names) };
  const isForbidden = !isAllowed;
  const missing = missingServer(inventory, name);
  if (isForbidden && !(missing && catalog.allowlist.isByAnnotations(role))) {
    const message = `tool '${name}' is not allowed for role '${role}'`;
    return { refusal: toolCallError('permission_denied', message, options), isForbidden };
  }
  const changed = isAllowed ? inventory.changed.get(name) : undefined;
  if (changed && runs) return { tool: changed.tool };
  if (changed)
    return { refusal: definitionChangedError('tool', name, changed.server, changed.what), isForbidden };
  if (missing) {
    const message = `server '${missing.server}' has not listed its tools yet: ${missing.message}`;
    const hint = runs ? undefined : 'The call was not made. Wait until it has, or use another tool.';
    const { mayHaveRun } = options;
    return {
      refusal: toolCallError('mcp_server_unreachable', message, { mayHaveRun, ...(hint && { hint }) }),
      isForbidden,
    };
  }
  return { refusal: toolCallError('tool_not_found', `there is no tool '${name}'`, options), isForbidden };
}

/** Refuses a role the reply to a call that was made under another role, unless it may make that call itself. */
export function refusalOfReply(
  catalog: Catalog,
  role: string,
  call: { role: string; tool: string },
): ToolCallError | undefined {
  if (call.role === role) return undefined;
  const { refusal, isForbidden } = admit(catalog, role, call.tool);
  return isForbidden ? refusal : undefined;
}

/** Refuses the reply in the journal, or the kept result, to a role that may not see it. Both stay there. */
export async function refusedReply(
  catalogs: Pick<CatalogTracker, 'current'>,
  role: string,
  earlier: { role: string; tool: string } | undefined,
): Promise<McpReply | undefined> {
  const refusal = earlier && refusalOfReply(await catalogs.current(), role, earlier);
  return refusal && { error: { ...refusal, may_have_run: true } };
}

/** Tells whether a role may see the reply to a call. */
export function maySeeReply(...asked: Parameters<typeof refusalOfReply>): boolean {
  return refusalOfReply(...asked) === undefined;
}

/** Returns the problem of the server to which the name belongs, if that server has listed no tools yet. */
function missingServer(
  { tools, hidden, unprefixed, problems }: Inventory,
  name: string,
): Inventory['problems'][number] | undefined {
  const missing = problems.filter(({ tool }) => tool === undefined);
  const server = parseMcpToolName(name)?.server;
  if (server === undefined) {
    return missing.find((at) => at.prefix === false && !unprefixed.some((tool) => tool.server === at.server));
  }
  const isKnown = [...tools, ...hidden].some((tool) => parseMcpToolName(tool.name)?.server === server);
  if (isKnown) return undefined;
  return missing.find((at) => parseMcpToolName(mcpToolName(at.server, 'x'))?.server === server);
}

/**
 * Guesses the origin of a tool whose server has not listed its tools yet. It is used only to check whether the role may call the tool then.
 */
function missingOrigin({ problems }: Inventory, name: string): ToolOrigin | undefined {
  const parsed = parseMcpToolName(name);
  const missing = problems.find(
    ({ tool, server }) => tool === undefined && parsed !== undefined && serverPart(server) === parsed.server,
  );
  return parsed && missing && { server: missing.server, tool: parsed.tool };
}

/**
 * Returns the error for a request that failed because of a fault of the orchestrator itself. Only the log has the thrown text, which may
 * quote a secret.
 */
export function panicError({ mayHaveRun }: { mayHaveRun: boolean }): ToolCallError {
  const message = 'the orchestrator failed to handle the request; its log has the reason';
  return toolCallError('tool_panicked', message, { mayHaveRun });
}
