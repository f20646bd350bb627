import type { McpContentRequest, ToolCallError } from '@signalbox/protocol';
import { toWireRound } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { FaceMcpContent, McpContentAsk } from './face-mcp-content.ts';
import { internalError, invalidParams, JsonRpcError, resourceNotFound } from './json-rpc-error.ts';
import type { ReadPages } from './read-pages.ts';
import type { SeenLinks } from './seen-links.ts';

/** The prompts and resources of the orchestrator's servers that the role may see. */
export function hostedMcpContent(
  executor: McpProxyExecutor,
  { links, pages }: { links: SeenLinks; pages: ReadPages },
): FaceMcpContent {
  return {
    kinds: () => executor.mcpContent.kinds,
    prompts: () => executor.mcpContent.prompts,
    resources: () => executor.mcpContent.resources,
    templates: () => executor.mcpContent.templates,
    async ask(ask) {
      const { result, error } = await executor.ask(requestOf(ask, links), { signal: ask.signal });
      if (error) throw rpcErrorOf(error, ask);
      if (ask.method === 'resources/read') pages.note(ask.params.uri);
      return result;
    },
    follow: (holder, uris) => executor.followed.follow(holder, uris),
    onUpdated: (listener) => executor.followed.onUpdated(listener),
    onChanged: (listener) => executor.onMcpContentChanged(listener),
  };
}

function requestOf({ method, params, round, meta }: McpContentAsk, links: SeenLinks): McpContentRequest {
  const seenIn = method === 'resources/read' ? links.toolOf(params.uri) : undefined;
  return {
    op: 'request',
    method,
    params,
    ...(seenIn !== undefined && { seen_in: seenIn }),
    ...(round && { round: toWireRound(round) }),
    ...(meta && { meta }),
  };
}

/** Makes the error that MCP requires: the server's own, or one with the fitting code. */
export function rpcErrorOf(
  error: ToolCallError,
  { method, params }: { method: string; params: Record<string, unknown> },
): JsonRpcError {
  const { code, message, hint, rpc_error: answered } = error;
  if (answered) return new JsonRpcError(answered.code, answered.message, answered.data);
  const text = hint === undefined ? message : `${message}. ${hint}`;
  if (code === 'not_found' || code === 'permission_denied') {
    if (method.startsWith('resources/')) return new JsonRpcError(resourceNotFound, text, { uri: params.uri });
    return new JsonRpcError(invalidParams, text);
  }
  if (code === 'invalid_arguments') return new JsonRpcError(invalidParams, text);
  return new JsonRpcError(internalError, text, { error });
}
