import {
  isNamedUri,
  type Prompt,
  promptSchema,
  type Resource,
  type ResourceTemplate,
  resourceSchema,
  resourceTemplateSchema,
  whyNotNormal,
} from '@signalbox/protocol';
import type { ServerLimits } from '../config/server-limits.ts';
import type { ChangedDefinitions } from '../definitions/server-definitions.ts';
import type { ToolProblem } from '../tool-calls/index.ts';
import { type EntryKind, type EntryList, type EntryPage, readEntryList } from './entry-list.ts';
import { type Mended, mended } from './mending.ts';

/**
 * A server's instructions, prompts and resources in a form that clients accept, and the problems of entries that were left out or mended.
 */
export interface McpContentList {
  prompts: Prompt[];
  /** The definitions as the server sent them, by name, of prompts that are shown in another form. */
  sentPrompts?: ReadonlyMap<string, object>;
  resources: Resource[];
  templates: ResourceTemplate[];
  /** The server's instructions, shortened to their limit. */
  instructions?: string;
  /** The prompts of a pinned server that are withheld. They stay in `prompts`, so that no other prompt gets their names. */
  changed?: ChangedDefinitions;
  /** The instructions of a pinned server, if they are withheld. */
  changedInstructions?: ChangedDefinitions;
  problems: ToolProblem[];
}

/** The lists of a server beside its tools, by the method of MCP that reads them and the field that holds them. */
export const mcpContentLists = {
  prompts: { method: 'prompts/list', field: 'prompts', capability: 'prompts' },
  resources: { method: 'resources/list', field: 'resources', capability: 'resources' },
  templates: { method: 'resources/templates/list', field: 'resourceTemplates', capability: 'resources' },
} as const;

/** Lists that were read now, and the names of those that could not be read. */
export interface ReadMcpContent extends McpContentList {
  unread: ListName[];
}

type ListName = keyof typeof mcpContentLists;

/** The bounds of the lists of one server. */
export type McpContentLimits = Pick<ServerLimits, 'toolBytes' | 'toolListBytes' | 'prompts' | 'resources'>;

/** Returns the lists of a server that has only tools. */
export function emptyMcpContent(): McpContentList {
  return { prompts: [], resources: [], templates: [], problems: [] };
}

/**
 * Reads the lists that a server declares. A list that cannot be read is empty, with a problem that says so; the others are read
 * nevertheless. `failed` turns an error into a text.
 */
export async function readMcpContent(
  readPage: (list: ListName, cursor: string | undefined) => Promise<EntryPage>,
  declared: (capability: 'prompts' | 'resources') => boolean,
  limits: McpContentLimits,
  failed: (thrown: unknown) => string,
): Promise<ReadMcpContent> {
  const kinds = kindsWithin(limits);
  const problems: ToolProblem[] = [];
  const unread: ListName[] = [];
  const nothing = { entries: [], sent: new Map<string, object>() };
  const read = async <Entry>(
    list: ListName,
    kind: EntryKind<Entry>,
  ): Promise<Pick<EntryList<Entry>, 'entries' | 'sent'>> => {
    if (!declared(mcpContentLists[list].capability)) return nothing;
    try {
      const found = await readEntryList(kind, (cursor) => readPage(list, cursor));
      problems.push(...found.problems);
      return found;
    } catch (thrown) {
      unread.push(list);
      // Servers that have resources need not have templates.
      if (list !== 'templates') problems.push({ tool: `${kind.word}s`, message: failed(thrown) });
      return nothing;
    }
  };
  const { entries: prompts, sent: sentPrompts } = await read('prompts', kinds.prompts);
  return {
    prompts,
    ...(sentPrompts.size > 0 && { sentPrompts }),
    resources: (await read('resources', kinds.resources)).entries,
    templates: (await read('templates', kinds.templates)).entries,
    problems,
    unread,
  };
}

function kindsWithin({ toolBytes, toolListBytes, prompts, resources }: McpContentLimits) {
  const bytes = { each: toolBytes, all: toolListBytes };
  const kinds: {
    prompts: EntryKind<Prompt>;
    resources: EntryKind<Resource>;
    templates: EntryKind<ResourceTemplate>;
  } = {
    prompts: {
      word: 'prompt',
      labelOf: (name) => `prompt ${name}`,
      keyOf: ({ name }) => name,
      mended: (entry) => mended(promptSchema, entry, { whole: 'arguments' }),
      nameOf: (entry) => 'name' in entry && entry.name,
      most: { count: prompts, limit: 'prompts' },
      bytes,
    },
    resources: {
      word: 'resource',
      labelOf: (uri) => `resource ${uri}`,
      keyOf: ({ uri }) => uri,
      mended: (entry) => checked(mended(resourceSchema, entry), ({ uri }) => uriProblem(uri)),
      nameOf: (entry) => 'uri' in entry && entry.uri,
      most: { count: resources, limit: 'resources' },
      bytes,
    },
    templates: {
      word: 'template',
      labelOf: (template) => `template ${template}`,
      keyOf: ({ uriTemplate }) => uriTemplate,
      mended: (entry) =>
        checked(mended(resourceTemplateSchema, entry), ({ uriTemplate }) => templateProblem(uriTemplate)),
      nameOf: (entry) => 'uriTemplate' in entry && entry.uriTemplate,
      most: { count: resources, limit: 'resources' },
      bytes,
    },
  };
  return kinds;
}

function checked<Entry>(
  entry: Mended<Entry>,
  problemOf: (entry: Entry) => string | undefined,
): Mended<Entry> {
  const problem = 'value' in entry ? problemOf(entry.value) : undefined;
  return problem === undefined ? entry : { problem };
}

function uriProblem(uri: string): string | undefined {
  if (isNamedUri(uri)) return 'uri: signalbox:// and ui://signalbox/ are ours';
  const why = whyNotNormal(uri);
  return why && `uri: ${why}`;
}

function templateProblem(template: string): string | undefined {
  if (isNamedUri(template)) return 'uriTemplate: signalbox:// and ui://signalbox/ are ours';
  return template.length > 4096 ? 'uriTemplate: it is longer than 4096 characters' : undefined;
}
