import type { Prompt, Resource, ResourceTemplate, SearchReply, Tool } from '@signalbox/protocol';
import { createToolIndex, type ToolIndex } from './tool-index.ts';

/** The prompts and resources that a search found, best first. */
export type FoundMcpContent = Required<Pick<SearchReply, 'prompts' | 'resources'>>;

/** Finds prompts, resources and templates by their words. */
export interface McpContentIndex {
  /** Finds up to `limit` prompts, and as many resources and templates together. */
  search(query: string, limit: number): FoundMcpContent;
}

/** The prompts and resources of one role. */
interface IndexedMcpContent {
  prompts: readonly Prompt[];
  resources: readonly Resource[];
  templates: readonly ResourceTemplate[];
}

/** The longest texts of a found prompt or resource, in characters. */
const textLength = 4000;

/** Indexes prompts and resources by the rules of {@link createToolIndex}: a prompt's arguments count as parameters, a URI as a name. */
export async function createMcpContentIndex({
  prompts,
  resources,
  templates,
}: IndexedMcpContent): Promise<McpContentIndex> {
  const byUri = new Map<string, { uri?: string; uri_template?: string; name: string }>([
    ...resources.map(({ uri, name }) => [uri, { uri, name }] as const),
    ...templates.map(({ uriTemplate, name }) => [uriTemplate, { uri_template: uriTemplate, name }] as const),
  ]);
  const promptIndex = await createToolIndex(prompts.map(promptDocument));
  const resourceIndex = await createToolIndex([
    ...resources.map((resource) => resourceDocument(resource.uri, resource)),
    ...templates.map((template) => resourceDocument(template.uriTemplate, template)),
  ]);
  return {
    search: (query, limit) => ({
      prompts: found(promptIndex, query, limit).map(({ name, ...rest }) => ({ name, ...rest })),
      resources: found(resourceIndex, query, limit).map(({ name, title: _name, ...rest }) => ({
        ...byUri.get(name)!,
        ...rest,
      })),
    }),
  };
}

function found(index: ToolIndex, query: string, limit: number) {
  return index.search(query, limit).map(({ tool: { name, title, description }, score }) => ({
    name,
    ...(title !== undefined && { title: title.slice(0, textLength) }),
    ...(description !== undefined && { description: description.slice(0, textLength) }),
    score,
  }));
}

function promptDocument({ name, title, description, arguments: args = [] }: Prompt): Tool {
  const properties = Object.fromEntries(args.map((arg) => [arg.name, { description: arg.description }]));
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema: { type: 'object', properties },
  };
}

function resourceDocument(
  uri: string,
  {
    name,
    title,
    description,
  }: { name: string; title?: string | undefined; description?: string | undefined },
): Tool {
  return {
    name: uri,
    title: title === undefined ? name : `${title} ${name}`,
    ...(description !== undefined && { description }),
    inputSchema: { type: 'object' },
  };
}
