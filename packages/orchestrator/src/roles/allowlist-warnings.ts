import type { Inventory, McpContent, MissingServer } from '@signalbox/mcp-host';
import { nearestName } from '@signalbox/protocol/internal';
import type { ApprovalPolicy } from '../approvals/ask-rules.ts';
import type { CallBudgets } from '../budgets/call-budgets.ts';
import type { ToolPolicy } from '../operator/policy.ts';
import type { McpContentAllowlist } from './mcp-content-allowlist.ts';
import type { RepeatLists } from './repeat-lists.ts';
import { matchesResource, mayMeanResourceOf } from './resource-pattern.ts';
import type { RoleToolAllowlist, ToolOrigins } from './role-tool-allowlist.ts';
import { matchesTool, mayMeanToolOf } from './tool-pattern.ts';

/** A part of the policy that has no effect and is probably mistyped. */
export interface AllowlistWarning {
  /** The affected role; absent for the repeat lists, which apply to all roles. */
  role?: string;
  /** The pattern that matches nothing; absent if the role itself is unknown. */
  pattern?: string;
  /** The kind of items that the pattern is about. */
  kind?: 'tool' | 'prompt' | 'resource';
  /** The known item or role with the most similar name. */
  nearest?: string;
  message: string;
}

/** The names that the patterns of a policy may match. */
export interface KnownNames {
  /** The names of tools, listed or hidden. */
  tools: readonly string[];
  origins?: ToolOrigins;
  /** Prompts, resources and templates. Without them, patterns of prompts and resources are not checked. */
  mcpContent?: Pick<McpContent, 'prompts' | 'resources' | 'templates'>;
  /** The roles that tokens have. Without them, roles are not checked. */
  roles?: readonly string[];
}

/**
 * Tells which patterns of roles match nothing in an inventory. Patterns that may mean something of a server that has listed nothing yet are
 * left out.
 */
export function patternWarnings(
  policy: PolicyWithPatterns,
  inventory: Inventory,
  missing: readonly Server[],
): string[] {
  return certainWarnings(unmatchedPatterns(policy, inventory), inventory, missing);
}

/** The parts of a policy that have patterns. */
type PolicyWithPatterns = Pick<ToolPolicy, 'allowlist' | 'mcpContent' | 'approvals' | 'repeat'>;

/** Finds the patterns of a policy that match nothing in an inventory, which takes long if it is large. */
export function unmatchedPatterns(
  { allowlist, mcpContent: contentAllowlist, approvals, repeat }: PolicyWithPatterns,
  { tools, hidden, changed, origins, mcpContent }: Inventory,
): AllowlistWarning[] {
  const names = [...[...tools, ...hidden].map((tool) => tool.name), ...changed.keys()];
  return allowlistWarnings(
    allowlist,
    { tools: names, origins, mcpContent },
    { mcpContent: contentAllowlist, approvals, repeat },
  );
}

/** Returns the texts of those warnings that no server which has listed nothing yet can make wrong. */
export function certainWarnings(
  warnings: readonly AllowlistWarning[],
  { mcpContent }: Pick<Inventory, 'mcpContent'>,
  missing: readonly Server[],
): string[] {
  return warnings
    .filter((warning) => isCertain(warning, missing, mcpContent.untold))
    .map(({ message }) => message);
}

type Server = Pick<MissingServer, 'server' | 'prefix'>;

/** Returns false if a server that has not listed its tools, prompts and resources yet may have what the warning misses. */
function isCertain(
  { pattern, kind }: AllowlistWarning,
  missing: readonly Server[],
  untold: readonly Server[],
): boolean {
  const silent = kind === 'tool' ? missing : untold;
  return !silent.some((server) => (pattern === undefined ? kind === 'tool' : mayMeanToolOf(pattern, server)));
}

/** Finds probable mistakes in a policy: patterns that match nothing known, and roles that no token has. */
export function allowlistWarnings(
  allowlist: RoleToolAllowlist,
  known: KnownNames,
  {
    repeat = {},
    budgets = {},
    mcpContent,
    approvals,
  }: {
    repeat?: RepeatLists;
    budgets?: CallBudgets;
    mcpContent?: McpContentAllowlist;
    approvals?: Pick<ApprovalPolicy, 'roles'>;
  } = {},
): AllowlistWarning[] {
  const isUnknownRole = (role: string) => known.roles !== undefined && !known.roles.includes(role);
  const warnings: AllowlistWarning[] = [];
  const tools = knownTools(known);
  for (const [role, patterns] of allowlist.entries()) {
    if (isUnknownRole(role)) warnings.push(unknownRole(role, known.roles, `no token has the role '${role}'`));
    const texts = patterns.filter((one) => typeof one === 'string');
    warnings.push(...unmatched(texts, tools, { role }));
    if (texts.length < patterns.length) warnings.push(...withoutReadOnly(role, known.origins));
  }
  if (known.mcpContent && mcpContent) warnings.push(...mcpContentWarnings(mcpContent, known.mcpContent));
  const asks = Object.entries(approvals?.roles ?? {}).map(([role, rules]): [string, string[]] => [
    `roles.${role}.ask`,
    rules.flatMap((rule) => (typeof rule === 'string' ? rule : (rule.tool ?? []))),
  ]);
  const repeats = { safeToRepeat: repeat.safe, neverRepeat: repeat.never };
  for (const [list, patterns = []] of [...asks, ...Object.entries(repeats)])
    warnings.push(...unmatched(patterns.filter(meansOneServer), tools, { list }));
  const withBudget = new Set([...Object.keys(budgets.roles ?? {}), ...Object.keys(budgets.perRole ?? {})]);
  for (const role of [...withBudget].filter(isUnknownRole)) {
    warnings.push(unknownRole(role, known.roles, `the role '${role}' has a budget, but no token has it`));
  }
  return warnings;
}

/** Returns false for a pattern of any server's tools: as a precaution, it may match nothing yet. */
function meansOneServer(pattern: string): boolean {
  return !pattern.includes('*') || /^[^*]+(:|__)/.test(pattern);
}

/** The items of one kind that patterns may match. */
interface KnownThings {
  kind: NonNullable<AllowlistWarning['kind']>;
  /** Returns their names in the form that a pattern uses. */
  names: () => readonly string[];
  /** Returns the name of one of them for people. */
  labelOf: (name: string) => string;
  isMeant: (pattern: string) => boolean;
}

function knownTools({ tools, origins }: KnownNames): KnownThings {
  return {
    kind: 'tool',
    names: () => tools,
    labelOf: (name) => labelOf(origins?.get(name), name),
    isMeant: (pattern) => tools.some((tool) => matchesTool(pattern, tool, origins?.get(tool))),
  };
}

function mcpContentWarnings(
  allowlist: McpContentAllowlist,
  { prompts, resources, templates }: NonNullable<KnownNames['mcpContent']>,
): AllowlistWarning[] {
  const knownPrompts: KnownThings = {
    kind: 'prompt',
    names: () => prompts.map(({ prompt }) => prompt.name),
    labelOf: (name) => {
      const found = prompts.find(({ prompt }) => prompt.name === name);
      return labelOf(found && { server: found.server, tool: found.own }, name);
    },
    isMeant: (pattern) =>
      prompts.some(({ server, own, prompt }) => matchesTool(pattern, prompt.name, { server, tool: own })),
  };
  const knownResources: KnownThings = {
    kind: 'resource',
    names: () => [
      ...resources.map(({ server, resource }) => `${server}:${resource.uri}`),
      ...templates.map(({ server, template }) => `${server}:${template.uriTemplate}`),
    ],
    labelOf: (name) => name,
    isMeant: (pattern) =>
      resources.some(({ server, resource }) => matchesResource(pattern, server, resource.uri)) ||
      templates.some(({ server, template }) => mayMeanResourceOf(pattern, server, template.uriTemplate)),
  };
  return [...allowlist.entries()].flatMap(([role, { prompts: some = [], resources: others = [] }]) => [
    ...unmatched(some, knownPrompts, { role }),
    ...unmatched(others, knownResources, { role }),
  ]);
}

function labelOf(origin: { server: string; tool: string } | undefined, name: string): string {
  const label = origin ? `${origin.server}:${origin.tool}` : name;
  return label.length > longestNamed ? name : label;
}

/** The most characters of a name that is compared with a pattern, and shown: servers choose their names. */
const longestNamed = 256;

/** The patterns that name nothing in particular, so that they cannot be mistyped. */
const everything: ReadonlySet<string> = new Set(['*', '*:*']);

function unmatched(
  patterns: readonly string[],
  things: KnownThings,
  where: { role: string } | { list: string },
): AllowlistWarning[] {
  return patterns
    .filter((pattern) => !everything.has(pattern) && !things.isMeant(pattern))
    .map((pattern) => {
      const { kind } = things;
      const names = things.names();
      const spellings = new Map(
        names
          .filter(({ length }) => length <= longestNamed)
          .flatMap((name): [string, string][] => [
            [name, name],
            [things.labelOf(name), name],
          ]),
      );
      const nearest = spellings.get(nearestName(pattern, spellings.keys()) ?? '');
      const none = names.length === 0 ? `; no ${kind}s are known` : '';
      const hint = nearest ? `; the most similar ${kind} is '${things.labelOf(nearest)}'` : none;
      const place = 'role' in where ? `role '${where.role}'` : where.list;
      return {
        ...('role' in where && { role: where.role }),
        ...{ pattern, kind },
        ...(nearest && { nearest }),
        message: `${place}: '${pattern}' matches no ${nouns[kind]}${hint}`,
      };
    });
}

/** A pattern may still match a resource that nobody lists: a result of a tool may name it. */
const nouns = { tool: 'tool', prompt: 'prompt', resource: 'resource or template that is listed' };

/** Warns of a role that uses what only reads, if no pinned definition says that of a tool. */
function withoutReadOnly(role: string, origins: ToolOrigins = new Map()): AllowlistWarning[] {
  if ([...origins.values()].some(({ readOnly }) => readOnly)) return [];
  const message = `role '${role}': { annotations: readOnly } matches no tool: no server with definitions: pin has one that says so`;
  return [{ role, kind: 'tool', message }];
}

function unknownRole(role: string, roles: readonly string[] | undefined, what: string): AllowlistWarning {
  const nearest = nearestName(role, roles ?? []);
  const hint = nearest ? `; the most similar role is '${nearest}'` : '';
  return { role, ...(nearest && { nearest }), message: `${what}${hint}` };
}
