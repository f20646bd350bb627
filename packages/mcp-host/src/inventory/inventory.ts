import type { Tool } from '@signalbox/protocol';
import type { DefinitionKey } from '@signalbox/store/journal';
import type { ChangedDefinitions, DefinitionChange } from '../definitions/server-definitions.ts';
import { ToolDigests } from '../tool-calls/index.ts';
import { buildMcpContent, type McpContent, type NamedPrompts } from './mcp-content.ts';
import { emptyMcpContent, type McpContentList } from './mcp-content-list.ts';
import { mendedTool } from './mended-tool.ts';
import type { Mended } from './mending.ts';
import type { ToolList } from './tool-list.ts';
import { assignToolNames, whyRenamed } from './tool-name.ts';

const nameTaken = 'left out: another tool already has its name';

/** A problem of a server or of one of its tools. It holds no secrets and no part of other servers' configuration. */
export interface InventoryProblem {
  server: string;
  tool?: string;
  message: string;
  /** False for a server whose tools keep their own names, which don't name their server. */
  prefix?: false;
}

/**
 * All shown tools, ordered by name. A tool is named `mcp_{server}__{tool}`, or as its server names it with `prefix: false`, and is
 * otherwise as its server describes it, in a form that clients accept. `version` is a hash of everything that is shown, and of what servers
 * sent in another form: it changes exactly when any of it does.
 */
export interface Inventory {
  version: string;
  tools: Tool[];
  /** The tools that may be called by these exact names but are not listed. */
  hidden: Tool[];
  /** The tools that are neither listed nor called until their definitions are accepted, by their names here. */
  changed: ReadonlyMap<string, ChangedTool>;
  /** The definitions as their servers sent them, of the tools above that are shown in another form, by their names here. */
  sent: ReadonlyMap<string, Tool>;
  /** The instructions, prompts and resources of the servers. */
  mcpContent: McpContent;
  /** The server and the server's own name of each of its tools, by the name here. Tools of providers are not in it. */
  origins: ReadonlyMap<string, ToolOrigin>;
  renamed: RenamedTool[];
  /** The tools of servers with `prefix: false`, whose names don't name their servers. */
  unprefixed: UnprefixedTool[];
  problems: InventoryProblem[];
}

/** A tool of a pinned server whose definition is withheld. */
export interface ChangedTool {
  server: string;
  what: DefinitionChange;
  /** The tool as its server describes it now, under its name here. */
  tool: Tool;
}

/** A definition of a pinned server that is withheld. */
export interface WithheldDefinition extends DefinitionKey {
  server: string;
  what: DefinitionChange;
  /** The hash of the definition that the server lists. */
  hash: string;
}

/** The server that a tool comes from, as the configuration names it, and the tool as its server names it. */
export interface ToolOrigin {
  server: string;
  tool: string;
  /** True if the definition that is pinned says that the tool only reads. What a server without pins says of its tools gives no rights. */
  readOnly?: true;
}

/** A tool of a server with `prefix: false`. `name` is the name that it is called by. */
export interface UnprefixedTool {
  server: string;
  tool: string;
  name: string;
}

/** A tool with a name that is neither `mcp_{server}__{tool}` nor, with `prefix: false`, its own. `reason` says why. */
export interface RenamedTool {
  server: string;
  tool: string;
  name: string;
  reason: string;
}

/** The server and the tool that a name of the inventory leads to. */
export interface RouteTarget {
  /** The name of the server, or of the provider. */
  server: string;
  /** The tool as its server named it. */
  tool: Tool;
  /** True if `server` is the name of a provider. */
  isProvided: boolean;
  /** The hints that the server declares and the host does not honour, if there are some. */
  withheld?: readonly string[];
  /** Set if the definition is withheld: calls are refused. */
  change?: DefinitionChange;
}

/** A server, or another source of tools, with everything that it lists. */
export interface ToolSource extends ToolList {
  name: string;
  /** True if its tools may be called by their exact names only. */
  isHidden?: boolean;
  /** True if only definitions that match their pins are shown. */
  arePinned?: boolean;
  /** False if its tools are to keep their own names. */
  prefix?: boolean;
  /** Its instructions, prompts and resources. */
  mcpContent?: McpContentList;
  /** True if it has not listed all its prompts and resources yet. */
  isMcpContentUntold?: boolean;
  /** True if it is disabled. */
  isDisabled?: boolean;
}

/** An inventory, and the server and tool that each of its names leads to. */
export interface InventoryBuild {
  inventory: Inventory;
  targets: ReadonlyMap<string, RouteTarget>;
  /** The withheld definitions. */
  withheld: WithheldDefinition[];
}

/** Remembers the results for each tool, so that a change of one server costs little for the tools of all others. */
export class InventoryMemory {
  readonly digests = new ToolDigests();
  readonly #named = new WeakMap<Tool, Tool>();
  readonly #mended = new WeakMap<Tool, Mended<Tool>>();
  readonly prompts: NamedPrompts = new WeakMap();

  /** Returns a provider's tool in a form that clients accept, or its problem; the same object each time. */
  mended(tool: Tool): Mended<Tool> {
    const known = this.#mended.get(tool) ?? mendedTool(tool);
    this.#mended.set(tool, known);
    return known;
  }

  /** Returns a tool under its name in the inventory; the same object each time, while its name stays. */
  named(tool: Tool, name: string): Tool {
    const known = this.#named.get(tool);
    if (known?.name === name) return known;
    const named = { ...tool, name };
    this.#named.set(tool, named);
    return named;
  }
}

/**
 * Combines the lists in the order of the configuration: of two tools that can't both have a name, the first gets it. Tools of `providers`
 * keep their own names, unless a server's tool has one already. With the same `memory`, unchanged tools are the same objects in each
 * inventory.
 */
export function buildInventory(
  servers: readonly ToolSource[],
  providers: readonly ToolSource[],
  naming: { alike: ReadonlySet<string>; max: number },
  memory = new InventoryMemory(),
): InventoryBuild {
  const { targets, renamed, unprefixed, problems } = nameTools(servers, naming);
  for (const { name: server, tools } of providers) {
    for (const tool of tools) {
      const shown = memory.mended(tool);
      if ('problem' in shown)
        problems.push({ server, tool: tool.name, message: `left out, not a valid tool: ${shown.problem}` });
      else if (targets.has(tool.name)) problems.push({ server, tool: tool.name, message: nameTaken });
      else targets.set(tool.name, { server, tool: shown.value, isProvided: true });
    }
  }
  const sent = new Map<string, Tool>();
  const sentBy = new Map(servers.map((source) => [source.name, source.sent]));
  const hiding = new Set(servers.filter(({ isHidden }) => isHidden).map(({ name }) => name));
  const tools: Tool[] = [];
  const hidden: Tool[] = [];
  const changed = new Map<string, ChangedTool>();
  for (const [name, { server, tool, isProvided, change }] of [...targets].sort(([a], [b]) =>
    a < b ? -1 : 1,
  )) {
    const own = isProvided ? undefined : sentBy.get(server)?.get(tool.name);
    // It may lack what a tool has: it is compared, and never shown.
    if (own) sent.set(name, memory.named(own as Tool, name));
    if (change) changed.set(name, { server, what: change, tool: memory.named(tool, name) });
    else (hiding.has(server) && !isProvided ? hidden : tools).push(memory.named(tool, name));
  }
  const pinned = new Set(servers.filter(({ arePinned }) => arePinned).map(({ name }) => name));
  const origins = new Map(
    [...targets].flatMap(([name, { server, tool, isProvided, change }]): [string, ToolOrigin][] => {
      const readOnly = pinned.has(server) && !change && tool.annotations?.readOnlyHint === true;
      return isProvided ? [] : [[name, { server, tool: tool.name, ...(readOnly && { readOnly }) }]];
    }),
  );
  const sources = servers.filter(({ isDisabled }) => !isDisabled);
  const mcpContent = buildMcpContent(
    sources.map((source) => ({ ...source, mcpContent: source.mcpContent ?? emptyMcpContent() })),
    naming,
    memory.prompts,
  );
  const withheld = servers.flatMap(withheldOf);
  const version = versionOf(memory.digests, { tools, hidden, sent, mcpContent, origins, withheld });
  const all = [...problemsOf([...servers, ...providers]), ...problems];
  return {
    inventory: {
      version,
      tools,
      hidden,
      changed,
      sent,
      mcpContent,
      origins,
      renamed,
      unprefixed,
      problems: all,
    },
    targets,
    withheld,
  };
}

function withheldOf({ name: server, changed, mcpContent }: ToolSource): WithheldDefinition[] {
  const all = (kind: DefinitionKey['kind'], definitions: ChangedDefinitions = new Map()) =>
    Array.from(definitions, ([name, { what, hash }]) => ({ server, kind, name, what, hash }));
  return [
    ...all('tool', changed),
    ...all('prompt', mcpContent?.changed),
    ...all('instructions', mcpContent?.changedInstructions),
  ];
}

function versionOf(
  digests: ToolDigests,
  {
    tools,
    hidden,
    sent,
    mcpContent,
    origins,
    withheld,
  }: Pick<Inventory, 'tools' | 'hidden' | 'sent' | 'mcpContent' | 'origins'> & {
    withheld: WithheldDefinition[];
  },
): string {
  const lists = [
    mcpContent.prompts.filter(({ change }) => !change).map(({ prompt }) => prompt),
    mcpContent.resources.map(({ resource }) => resource),
    mcpContent.templates.map(({ template }) => template),
  ];
  const readOnly = [...origins].filter(([, origin]) => origin.readOnly).map(([name]) => name);
  const sources = [...mcpContent.prompts, ...mcpContent.resources, ...mcpContent.templates].map(
    ({ server }) => server,
  );
  return digests.ofAll(
    [tools, hidden, [...sent.values()], ...lists],
    [[...mcpContent.servers].sort(), mcpContent.instructions, sources, withheld, readOnly],
  );
}

function nameTools(
  servers: readonly ToolSource[],
  { alike, max }: { alike: ReadonlySet<string>; max: number },
) {
  const found = servers.flatMap(({ name: server, tools, prefix = true, withheld, changed }) =>
    tools.map((tool) => {
      const refused = withheld?.get(tool.name);
      const change = changed?.get(tool.name)?.what;
      const target = {
        ...{ server, tool, isProvided: false },
        ...(refused && { withheld: refused }),
        ...(change && { change }),
      };
      return { target, prefix };
    }),
  );
  const keys = found.map(({ target, prefix }) => ({ server: target.server, tool: target.tool.name, prefix }));
  const names = assignToolNames(keys, alike, max);
  const targets = new Map<string, RouteTarget>();
  const renamed: RenamedTool[] = [];
  const problems: InventoryProblem[] = [];
  const unprefixed: UnprefixedTool[] = [];
  for (const [i, { target, prefix }] of found.entries()) {
    const name = names[i];
    const key = { server: target.server, tool: target.tool.name };
    if (name === undefined) {
      problems.push({ ...key, message: nameTaken });
      continue;
    }
    targets.set(name, target);
    if (!prefix) unprefixed.push({ ...key, name });
    const reason = whyRenamed({ ...key, prefix }, name, alike, max);
    if (reason !== undefined) renamed.push({ ...key, name, reason });
  }
  return { targets, renamed, unprefixed, problems };
}

function problemsOf(sources: readonly ToolSource[]): InventoryProblem[] {
  return sources.flatMap(({ name: server, problems, prefix }) =>
    problems.map((problem) => ({ server, ...problem, ...(prefix === false && { prefix }) })),
  );
}
