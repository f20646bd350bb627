import type { Prompt, Resource, ResourceTemplate, ServerInstructions } from '@signalbox/protocol';
import type { DefinitionChange } from '../definitions/server-definitions.ts';
import type { McpContentList } from './mcp-content-list.ts';
import { assignToolNames } from './tool-name.ts';

/** A prompt under its name in this host, with its server and the server's own name for it. */
export interface ServerPrompt {
  server: string;
  own: string;
  prompt: Prompt;
  isHidden: boolean;
  /** Set if the definition is withheld: the prompt is not shown. */
  change?: DefinitionChange;
}

/** A resource with its server. URIs stay as they are; several servers may have the same one. */
export interface ServerResource {
  server: string;
  resource: Resource;
  isHidden: boolean;
}

/** A template of resources with its server. */
export interface ServerTemplate {
  server: string;
  template: ResourceTemplate;
  isHidden: boolean;
}

/** Everything that the servers list besides tools, in the order of the configuration. Hidden items can be used, but are not listed. */
export interface McpContent {
  prompts: ServerPrompt[];
  resources: ServerResource[];
  templates: ServerTemplate[];
  instructions: ServerInstructions[];
  /** The names of the servers that are configured and not disabled. */
  servers: string[];
  /** The servers that have not listed all their prompts and resources yet: a card names only tools, and reading a list may fail. */
  untold: { server: string; prefix: boolean }[];
}

/** A server with its instructions, prompts and resources. */
export interface McpContentSource {
  name: string;
  isHidden?: boolean;
  prefix?: boolean;
  mcpContent: McpContentList;
  /** True if it has not listed all of them yet. */
  isMcpContentUntold?: boolean;
}

/** Remembers the named form of each prompt, so that it is the same object while its name stays. */
export type NamedPrompts = WeakMap<Prompt, Prompt>;

/** Combines the prompts and resources of all servers. Prompts are named like tools, in a namespace of their own. */
export function buildMcpContent(
  sources: readonly McpContentSource[],
  { alike, max }: { alike: ReadonlySet<string>; max: number },
  named: NamedPrompts = new WeakMap(),
): McpContent {
  const found = sources.flatMap(({ name: server, prefix = true, isHidden = false, mcpContent }) =>
    mcpContent.prompts.map((prompt) => {
      const change = mcpContent.changed?.get(prompt.name)?.what;
      return { server, prompt, prefix, isHidden, ...(change && { change }) };
    }),
  );
  const names = assignToolNames(
    found.map(({ server, prompt, prefix }) => ({ server, tool: prompt.name, prefix })),
    alike,
    max,
  );
  const prompts = found.flatMap(({ prefix: _, prompt, ...rest }, i): ServerPrompt[] => {
    const name = names[i];
    if (name === undefined) return [];
    return [{ ...rest, own: prompt.name, prompt: underName(prompt, name, named) }];
  });
  return {
    prompts: prompts.sort((a, b) => (a.prompt.name < b.prompt.name ? -1 : 1)),
    resources: sources.flatMap(({ name: server, isHidden = false, mcpContent }) =>
      mcpContent.resources.map((resource) => ({ server, resource, isHidden })),
    ),
    templates: sources.flatMap(({ name: server, isHidden = false, mcpContent }) =>
      mcpContent.templates.map((template) => ({ server, template, isHidden })),
    ),
    instructions: sources.flatMap(({ name: server, mcpContent: { instructions: text } }) =>
      text === undefined ? [] : [{ server, text }],
    ),
    servers: sources.map(({ name }) => name),
    untold: sources.flatMap(({ name: server, prefix = true, isMcpContentUntold }) =>
      isMcpContentUntold ? [{ server, prefix }] : [],
    ),
  };
}

function underName(prompt: Prompt, name: string, named: NamedPrompts): Prompt {
  const known = named.get(prompt);
  if (known?.name === name) return known;
  const renamed = { ...prompt, name };
  named.set(prompt, renamed);
  return renamed;
}
