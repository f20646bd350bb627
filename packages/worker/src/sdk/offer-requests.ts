import type { Server, ServerCapabilities } from '@modelcontextprotocol/server';
import {
  type CallRound,
  forwardedMeta,
  type OfferedKinds,
  offerMethods,
  type RequestMeta,
} from '@signalbox/protocol';
import type { FaceOffers } from '../tools/face-offers.ts';
import { invalidParams, JsonRpcError } from '../tools/json-rpc-error.ts';
import { listPage } from '../tools/list-pages.ts';

/** A request of a client about prompts or resources, over any transport. */
export interface OfferClientRequest {
  method: string;
  params: Record<string, unknown>;
  signal: AbortSignal;
  /** Set if the client's revision has results that ask for input. */
  round: CallRound | undefined;
  meta: RequestMeta | undefined;
}

/** The lists of the offers, by the method that reads them. */
const lists = {
  'prompts/list': (offers: FaceOffers) => ({
    field: 'prompts',
    list: { what: 'prompts', entries: offers.prompts(), keyOf: ({ name }: { name: string }) => name },
  }),
  'resources/list': (offers: FaceOffers) => ({
    field: 'resources',
    list: { what: 'resources', entries: offers.resources(), keyOf: ({ uri }: { uri: string }) => uri },
  }),
  'resources/templates/list': (offers: FaceOffers) => ({
    field: 'resourceTemplates',
    list: {
      what: 'templates',
      entries: offers.templates(),
      keyOf: ({ uriTemplate }: { uriTemplate: string }) => uriTemplate,
    },
  }),
} as const;

/** Returns the capabilities besides tools that the policy gives the agent. */
export function offerCapabilities(offers: FaceOffers): ServerCapabilities {
  const { prompts, resources } = offers.kinds();
  return {
    ...(prompts && { prompts: { listChanged: true } }),
    ...(resources && { resources: { subscribe: true, listChanged: true } }),
    ...((prompts || resources) && { completions: {} }),
  };
}

/** Returns true if the agent may call a method of prompts, resources or completion. */
export function isOfferMethod(offers: FaceOffers, method: string): boolean {
  const { prompts, resources } = offers.kinds();
  if (method === 'completion/complete') return prompts === true || resources === true;
  if (method === 'prompts/list' || method === 'prompts/get') return prompts === true;
  return resources === true && (method === 'resources/read' || Object.hasOwn(lists, method));
}

/** Answers a request that {@link isOfferMethod} knows. Rejects with `JsonRpcError`. */
export async function answerOfferRequest(
  offers: FaceOffers,
  { method, params, signal, round, meta }: OfferClientRequest,
): Promise<Record<string, unknown>> {
  if (Object.hasOwn(lists, method)) return pageOf(offers, method as keyof typeof lists, params.cursor);
  const asked = offerMethods.find((known) => known === method)!;
  const { _meta, ...own } = params;
  return await offers.ask({ method: asked, params: own, signal, round, meta: forwardedMeta(meta) });
}

function pageOf(offers: FaceOffers, method: keyof typeof lists, cursor: unknown): Record<string, unknown> {
  if (cursor !== undefined && typeof cursor !== 'string')
    throw new JsonRpcError(invalidParams, 'cursor: it must be the nextCursor of the page before');
  const { field, list } = lists[method](offers);
  const { page, ...rest } = listPage<never>(list as never, cursor);
  return { [field]: page, ...rest };
}

/** Tells a client which lists have changed, if its session has them. */
export async function sendOffersChanged(
  server: Server | undefined,
  { prompts, resources }: OfferedKinds,
): Promise<void> {
  const declared = server?.getCapabilities();
  if (prompts && declared?.prompts) await server?.sendPromptListChanged();
  if (resources && declared?.resources) await server?.sendResourceListChanged();
}
