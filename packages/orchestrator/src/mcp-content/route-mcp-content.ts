import type { McpContent, ToolOrigin } from '@signalbox/mcp-host';
import { definitionChangedError } from '@signalbox/mcp-host/internal';
import {
  isJsonObject,
  isNamedUri,
  type McpContentMethod,
  normalUri,
  parseNamedUri,
  type ToolCallError,
  templateMatcher,
  toolCallError,
  whyNotNormal,
} from '@signalbox/protocol';
import type { McpContentAllowlist } from '../roles/mcp-content-allowlist.ts';
import type { AllowlistRule } from '../roles/role-tool-allowlist.ts';
import type { ToolPages } from './tool-pages.ts';

/** A request for a prompt, a resource or a completion. */
export interface McpContentQuestion {
  method: McpContentMethod;
  params: Record<string, unknown>;
  /** The server of the tool whose result contained the URI. */
  seenAt?: string | undefined;
}

/** The server that a question goes to, and the form in which it is asked there. */
export interface McpContentRoute {
  server: string;
  params: Record<string, unknown>;
  /** The name of the requested item, as an allowlist and a hold of tools write it. */
  name: string;
  origin: ToolOrigin;
  /** True if `name` is the URI of a resource or a template. */
  isUri?: true;
  /** The resource that is read, under the asker's name of it and under its server's. */
  resource?: { asked: string; uri: string };
}

/** A route, or the error for the asker. `rule` is the rule of the allowlist that refused it. */
export type McpContentRouting = { route: McpContentRoute } | { refusal: ToolCallError; rule?: string };

/** The policy, the prompts and resources of all servers, and the pages of their tools. */
export interface McpContentRules {
  mcpContent: McpContent;
  allowlist: McpContentAllowlist;
  pages: ToolPages;
}

/**
 * Tells whether a role may read a resource of a server, and why: its rules allow it, or it is the page of a tool that the role may call.
 */
export function explainRead(
  { allowlist, pages }: McpContentRules,
  role: string,
  { server, uri }: { server: string; uri: string },
): AllowlistRule {
  const rule = allowlist.explainResource(role, server, uri);
  const tool = rule.allowed ? undefined : pages.toolOf(role, server, uri);
  return tool === undefined
    ? rule
    : { allowed: true, rule: `the page of '${tool}', which the role may call` };
}

/**
 * Finds the server for a question that `role` may ask. A URI leads to the first server of the configuration that lists it and of which the
 * role may read it; then to one of which a tool names it as its page; then to one with a template for it; then to the server of the tool
 * whose result named it. A forbidden item gets the same error whether it exists or not.
 */
export function routeMcpContent(
  rules: McpContentRules,
  role: string,
  question: McpContentQuestion,
): McpContentRouting {
  switch (question.method) {
    case 'resources/read':
      return routeRead(rules, role, question);
    case 'prompts/get':
      // As with tools: a server that parses absent arguments fails, though all of them are optional.
      return routePrompt(rules, role, { ...question.params, arguments: question.params.arguments ?? {} });
    case 'completion/complete':
      return routeCompletion(rules, role, question.params);
  }
}

function routeRead(
  rules: McpContentRules,
  role: string,
  { params, seenAt }: McpContentQuestion,
): McpContentRouting {
  const { uri: asked } = params;
  if (typeof asked !== 'string') return invalid("field 'uri': it must be the URI of a resource");
  const found = findResource(rules, role, asked, seenAt);
  if ('refusal' in found) return found;
  const { server, uri } = found;
  const origin = { server, tool: uri };
  return {
    route: { server, params: { ...params, uri }, name: uri, origin, isUri: true, resource: { asked, uri } },
  };
}

/**
 * Finds the server of which `role` may read a URI, and the spelling in which that server is asked: its own if it lists the URI, else the
 * asker's.
 */
export function findResource(
  rules: McpContentRules,
  role: string,
  asked: string,
  seenAt?: string,
): { server: string; uri: string } | Extract<McpContentRouting, { refusal: ToolCallError }> {
  const named = parseNamedUri(asked);
  if (!named && isNamedUri(asked))
    return invalid("field 'uri': it must be signalbox://SERVER/URI, or ui://signalbox/SERVER/PAGE");
  const { mcpContent, pages } = rules;
  const uri = named?.uri ?? asked;
  const why = whyNotNormal(uri);
  if (why !== undefined) return invalid(`field 'uri': it has no normal form: ${why}`);
  const { servers } = mcpContent;
  const candidates = named ? servers.filter((server) => server === named.server) : servers;
  const allowed = candidates.filter((server) => explainRead(rules, role, { server, uri }).allowed);
  if (allowed.length === 0) {
    const { rule } = explainRead(rules, role, { server: candidates[0] ?? '', uri });
    return { refusal: forbidden('resource', asked, role), rule };
  }
  const listing = listingsOf(mcpContent).get(normalUri(uri)) ?? [];
  const isShown = (server: string) => listing.some((one) => one.server === server && !one.isHidden);
  const isListed = (server: string) => listing.some((one) => one.server === server);
  const server = named
    ? allowed[0]
    : (allowed.find(isShown) ??
      allowed.find(isListed) ??
      allowed.find((one) => pages.toolOf(role, one, uri) !== undefined) ??
      firstWithTemplate(mcpContent, allowed, uri) ??
      allowed.find((one) => one === seenAt));
  if (server === undefined) return { refusal: notFound('resource', asked) };
  const spellings = listing.filter((one) => one.server === server).map(({ resource }) => resource.uri);
  if (spellings.includes(uri)) return { server, uri };
  return { server, uri: spellings[0] ?? pages.spellingOf(server, uri) ?? uri };
}

/**
 * The resources that list each URI, by its normal form. Many reads and subscriptions search the same lists, which can hold 10,000 resources
 * of each server.
 */
const listings = new WeakMap<McpContent['resources'], ReadonlyMap<string, McpContent['resources']>>();

function listingsOf({ resources }: McpContent): ReadonlyMap<string, McpContent['resources']> {
  let known = listings.get(resources);
  if (!known) {
    known = Map.groupBy(resources, ({ resource }) => normalUri(resource.uri));
    listings.set(resources, known);
  }
  return known;
}

const matchers = new WeakMap<
  McpContent['templates'],
  { server: string; matches: (uri: string) => boolean }[]
>();

/** Finds the first of some servers that has a template for a URI. Templates have the order of the servers. */
function firstWithTemplate(
  { templates }: McpContent,
  servers: readonly string[],
  uri: string,
): string | undefined {
  let known = matchers.get(templates);
  if (!known) {
    known = templates.map(({ server, template }) => ({
      server,
      matches: templateMatcher(template.uriTemplate),
    }));
    matchers.set(templates, known);
  }
  const among = new Set(servers);
  return known.find(({ server, matches }) => among.has(server) && matches(uri))?.server;
}

function routePrompt(
  { mcpContent, allowlist }: McpContentRules,
  role: string,
  params: Record<string, unknown>,
): McpContentRouting {
  const { name } = params;
  if (typeof name !== 'string') return invalid("field 'name': it must be the name of a prompt");
  const found = mcpContent.prompts.find(({ prompt }) => prompt.name === name);
  const origin = found && { server: found.server, tool: found.own };
  const { allowed, rule } = allowlist.explainPrompt(role, name, origin);
  if (!allowed) return { refusal: forbidden('prompt', name, role), rule };
  if (!found || !origin) return { refusal: notFound('prompt', name) };
  if (found.change) return { refusal: definitionChangedError('prompt', name, found.server, found.change) };
  return { route: { server: found.server, params: { ...params, name: found.own }, name, origin } };
}

function routeCompletion(
  rules: McpContentRules,
  role: string,
  params: Record<string, unknown>,
): McpContentRouting {
  const { ref } = params;
  if (!isJsonObject(ref)) return invalid("field 'ref': it must name a prompt or a template");
  if (ref.type === 'ref/prompt') {
    const routing = routePrompt(rules, role, ref);
    if ('refusal' in routing) return routing;
    return { route: { ...routing.route, params: { ...params, ref: routing.route.params } } };
  }
  if (ref.type !== 'ref/resource' || typeof ref.uri !== 'string')
    return invalid("field 'ref': its type must be ref/prompt, with a name, or ref/resource, with a uri");
  return routeTemplate(rules, role, params, { ...ref, uri: ref.uri });
}

function routeTemplate(
  { mcpContent, allowlist }: McpContentRules,
  role: string,
  params: Record<string, unknown>,
  ref: { uri: string; [field: string]: unknown },
): McpContentRouting {
  const named = parseNamedUri(ref.uri);
  const uri = named?.uri ?? ref.uri;
  const mayBeAt = (server: string) => named === undefined || server === named.server;
  const servers = mcpContent.servers.filter(mayBeAt);
  const allowed = servers.filter((server) => allowlist.allowsTemplate(role, server, uri));
  if (allowed.length === 0) return { refusal: forbidden('template', ref.uri, role) };
  const listed = [
    ...mcpContent.templates.map(({ server, template }) => ({ server, own: template.uriTemplate })),
    ...mcpContent.resources.map(({ server, resource }) => ({ server, own: resource.uri })),
  ].filter(({ server, own }) => allowed.includes(server) && normalUri(own) === normalUri(uri));
  const server = allowed.find((one) => listed.some((each) => each.server === one));
  if (server === undefined) return { refusal: notFound('template', ref.uri) };
  const spellings = listed.filter((each) => each.server === server).map(({ own }) => own);
  const own = spellings.includes(uri) ? uri : spellings[0]!;
  const sent = { ...params, ref: { ...ref, uri: own } };
  return { route: { server, params: sent, name: own, origin: { server, tool: own }, isUri: true } };
}

function forbidden(what: string, name: string, role: string): ToolCallError {
  const message = `${what} '${name.slice(0, 256)}' is not allowed for role '${role}'`;
  return toolCallError('permission_denied', message, { mayHaveRun: false });
}

function notFound(what: string, name: string): ToolCallError {
  const message = `there is no ${what} '${name.slice(0, 256)}'`;
  return toolCallError('not_found', message, { mayHaveRun: false });
}

function invalid(message: string): { refusal: ToolCallError } {
  return { refusal: toolCallError('invalid_arguments', message, { mayHaveRun: false }) };
}
