import type { Server, ServerCapabilities } from '@modelcontextprotocol/server';
import {
  type CallRound,
  forwardedMeta,
  type McpContentKinds,
  mcpContentMethods,
  type RequestMeta,
} from '@signalbox/protocol';
import type { FaceMcpContent } from '../tools/face-mcp-content.ts';
import { invalidParams, JsonRpcError } from '../tools/json-rpc-error.ts';
import { listPage } from '../tools/list-pages.ts';

/** A request of a client about prompts or resources, over any transport. */
export interface McpContentClientRequest {
  method: string;
  params: Record<string, unknown>;
  signal: AbortSignal;
  /** Set if the client's revision has results that ask for input. */
  round: CallRound | undefined;
  meta: RequestMeta | undefined;
}

/** The lists of prompts and resources, by the method that reads them. */
const lists = {
  'prompts/list': (mcpContent: FaceMcpContent) => ({
    field: 'prompts',
    list: { what: 'prompts', entries: mcpContent.prompts(), keyOf: ({ name }: { name: string }) => name },
  }),
  'resources/list': (mcpContent: FaceMcpContent) => ({
    field: 'resources',
    list: { what: 'resources', entries: mcpContent.resources(), keyOf: ({ uri }: { uri: string }) => uri },
  }),
  'resources/templates/list': (mcpContent: FaceMcpContent) => ({
    field: 'resourceTemplates',
    list: {
      what: 'templates',
      entries: mcpContent.templates(),
      keyOf: ({ uriTemplate }: { uriTemplate: string }) => uriTemplate,
    },
  }),
} as const;

/** Returns the capabilities besides tools that the policy gives the agent. */
export function mcpContentCapabilities(mcpContent: FaceMcpContent): ServerCapabilities {
  const { prompts, resources } = mcpContent.kinds();
  return {
    ...(prompts && { prompts: { listChanged: true } }),
    ...(resources && { resources: { subscribe: true, listChanged: true } }),
    ...((prompts || resources) && { completions: {} }),
  };
}

/** Returns true if the agent may call a method of prompts, resources or completion. */
export function isMcpContentMethod(mcpContent: FaceMcpContent, method: string): boolean {
  const { prompts, resources } = mcpContent.kinds();
  if (method === 'completion/complete') return prompts === true || resources === true;
  if (method === 'prompts/list' || method === 'prompts/get') return prompts === true;
  return resources === true && (method === 'resources/read' || Object.hasOwn(lists, method));
}

/** Answers a request that {@link isMcpContentMethod} knows. Rejects with `JsonRpcError`. */
export async function answerMcpContentRequest(
  mcpContent: FaceMcpContent,
  { method, params, signal, round, meta }: McpContentClientRequest,
): Promise<Record<string, unknown>> {
  if (Object.hasOwn(lists, method)) return pageOf(mcpContent, method as keyof typeof lists, params.cursor);
  const asked = mcpContentMethods.find((known) => known === method)!;
  const { _meta, ...own } = params;
  return await mcpContent.ask({ method: asked, params: own, signal, round, meta: forwardedMeta(meta) });
}

function pageOf(
  mcpContent: FaceMcpContent,
  method: keyof typeof lists,
  cursor: unknown,
): Record<string, unknown> {
  if (cursor !== undefined && typeof cursor !== 'string')
    throw new JsonRpcError(invalidParams, 'cursor: it must be the nextCursor of the page before');
  const { field, list } = lists[method](mcpContent);
  const { page, ...rest } = listPage<never>(list as never, cursor);
  return { [field]: page, ...rest };
}

/** Tells a client which lists have changed, if its session has them. */
export async function sendMcpContentChanged(
  server: Server | undefined,
  { prompts, resources }: McpContentKinds,
): Promise<void> {
  const declared = server?.getCapabilities();
  if (prompts && declared?.prompts) await server?.sendPromptListChanged();
  if (resources && declared?.resources) await server?.sendResourceListChanged();
}
