import type { ToolOrigin } from '@signalbox/mcp-host';
import {
  type McpContentKinds,
  namedUri,
  normalUri,
  type Prompt,
  type Resource,
  type ResourceTemplate,
  type ServerInstructions,
  type Tool,
} from '@signalbox/protocol';
import { explainRead, findResource, type McpContentRules } from './route-mcp-content.ts';
import { pageOf, withPage } from './tool-pages.ts';

/** The prompts, resources, templates and instructions that one role is shown, in the order of the configuration. */
export interface RoleMcpContent {
  kinds: McpContentKinds;
  prompts: readonly Prompt[];
  resources: readonly Resource[];
  templates: readonly ResourceTemplate[];
  /** The instructions of the servers of which the role is shown something. */
  instructions: readonly ServerInstructions[];
}

/** The most characters of the instructions of all servers together. */
const maxInstructions = 32_000;

/**
 * Returns the prompts and resources that a role is shown. A URI or template that an earlier server also lists to the role is shown under
 * the name of its own server. `usesToolOf` tells of which servers the role is shown a tool.
 */
export function mcpContentOfRole(
  rules: McpContentRules,
  role: string,
  usesToolOf: (server: string) => boolean,
): RoleMcpContent {
  const { mcpContent, allowlist } = rules;
  /** The first server that lists each URI, by its normal form. */
  const first = new Map<string, string>();
  const prompts = mcpContent.prompts.filter(
    ({ server, own, prompt, isHidden, change }) =>
      !isHidden && !change && allowlist.allowsPrompt(role, prompt.name, { server, tool: own }),
  );
  const resources = mcpContent.resources.filter(
    ({ server, resource, isHidden }) =>
      !isHidden && explainRead(rules, role, { server, uri: resource.uri }).allowed,
  );
  const templates = mcpContent.templates.filter(
    ({ server, template, isHidden }) =>
      !isHidden && allowlist.allowsTemplate(role, server, template.uriTemplate),
  );
  const used = new Set([...prompts, ...resources, ...templates].map(({ server }) => server));
  const unique = (server: string, uri: string): string => {
    const normal = normalUri(uri);
    const earlier = first.get(normal) ?? server;
    first.set(normal, earlier);
    return earlier === server ? uri : namedUri(server, uri);
  };
  return {
    kinds: allowlist.kinds(role),
    prompts: prompts.map(({ prompt }) => prompt),
    resources: resources.map(({ server, resource }) => {
      const uri = unique(server, resource.uri);
      return uri === resource.uri ? resource : { ...resource, uri };
    }),
    templates: templates.map(({ server, template }) => {
      const uriTemplate = unique(server, template.uriTemplate);
      return uriTemplate === template.uriTemplate ? template : { ...template, uriTemplate };
    }),
    instructions: within(
      mcpContent.instructions.filter(({ server }) => used.has(server) || usesToolOf(server)),
      maxInstructions,
    ),
  };
}

/**
 * Returns the tools that a role is shown, each with the name under which the role reads its page: another server may list the same URI.
 */
export function withReadablePages(
  rules: McpContentRules,
  role: string,
  tools: readonly Tool[],
  origins: ReadonlyMap<string, ToolOrigin>,
): Tool[] {
  return tools.map((tool) => {
    const uri = pageOf(tool);
    const server = origins.get(tool.name)?.server;
    if (uri === undefined || server === undefined) return tool;
    const found = findResource(rules, role, uri);
    return 'refusal' in found || found.server === server ? tool : withPage(tool, namedUri(server, uri));
  });
}

function within(all: readonly ServerInstructions[], characters: number): ServerInstructions[] {
  let left = characters;
  return all.filter(({ text }) => {
    left -= text.length;
    return left >= 0;
  });
}
