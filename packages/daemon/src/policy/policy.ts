import {
  type MailboxRule,
  McpContentAllowlist,
  type McpContentPatterns,
  type Policy,
  type ResultRule,
  RoleToolAllowlist,
  type ToolRule,
} from '@signalbox/orchestrator';
import type { BudgetEntry, Config } from '../config/index.ts';
import { definedValues } from './defined-values.ts';
import { type RenamedTool, repeatLists } from './repeat-lists.ts';

/** Throws `bad_config` if an orchestrator would refuse the rules of a configuration. */
export function checkPolicy(config: Config): void {
  policyOf(config, []);
}

/**
 * Builds the rules of a configuration. `renamed` are the tools whose shown names do not follow from their servers.
 * Throws `bad_config`.
 */
export function policyOf(config: Config, renamed: readonly RenamedTool[]): Policy {
  return {
    allowlist: withOperator(configuredAllowlist(config), config),
    mcpContent: mcpContentOf(config),
    repeat: repeatLists(config, renamed),
    budgets: budgetsOf(config),
    mailbox: definedValues(config.roles, mailboxRuleOf),
    approvals: approvalPolicyOf(config),
    results: definedValues(config.roles, ({ results }) => resultRuleOf(results)),
    serverConcurrency: definedValues(config.mcpServers, ({ concurrency }) => concurrency),
  };
}

/**
 * Builds the rules that are in force while `after` replaces `before`: a role may use only what both allow, and a call waits for a decision
 * if either demands it. A call is repeated only if both say that it may be. The other rules are those of `before`.
 */
export function commonPolicy(before: Config, after: Config, renamed: readonly RenamedTool[]): Policy {
  const { budgets, mailbox, results, serverConcurrency } = policyOf(before, renamed);
  return {
    allowlist: commonAllowlist(before, after),
    mcpContent: commonMcpContent(before, after),
    approvals: commonApprovals(before, after),
    repeat: commonRepeat(before, after, renamed),
    ...{ budgets, mailbox, results, serverConcurrency },
  };
}

/** Builds the rules on calls that wait for a decision. */
function approvalPolicyOf({ roles, approvals }: Pick<Config, 'roles' | 'approvals'>): Policy['approvals'] {
  return { ...approvals, roles: definedValues(roles, ({ ask }) => ask) };
}

/** Builds the rules by which a call waits for a decision if either configuration says so. */
function commonApprovals(before: Config, after: Config): Policy['approvals'] {
  const [one, other] = [approvalPolicyOf(before), approvalPolicyOf(after)];
  const names = new Set([...Object.keys(one.roles), ...Object.keys(other.roles)]);
  const roles = [...names].map((role) => [role, [...(other.roles[role] ?? []), ...(one.roles[role] ?? [])]]);
  return { ...other, roles: Object.fromEntries(roles) };
}

/** Builds the allowlist of the configured roles, without the operator's own. */
export function configuredAllowlist({
  roles,
  unlisted,
}: Pick<Config, 'roles' | 'unlisted'>): RoleToolAllowlist {
  const entries = Object.entries(roles).map(([role, { tools }]) => [role, tools] as const);
  return RoleToolAllowlist.fromEntries(entries, { unlisted });
}

/** Builds the allowlist of what both configurations allow. If they allow the same tools by different patterns, it may allow less. */
function commonAllowlist(before: Config, after: Config): RoleToolAllowlist {
  const names = new Set([...Object.keys(before.roles), ...Object.keys(after.roles)]);
  const roles = [...names].map((role) => [role, { tools: commonTools(role, before, after) }] as const);
  const unlisted = before.unlisted === 'deny' ? 'deny' : after.unlisted;
  const common = { roles: Object.fromEntries(roles), unlisted };
  return withOperator(configuredAllowlist(common), common);
}

/** Builds the allowlist of the prompts and resources of the configured roles, without the operator's own. */
export function configuredMcpContent({
  roles,
  unlisted,
}: Pick<Config, 'roles' | 'unlisted'>): McpContentAllowlist {
  const entries = Object.entries(roles).map(
    ([role, { prompts, resources }]) => [role, { prompts, resources }] as const,
  );
  return McpContentAllowlist.fromEntries(entries, { unlisted });
}

/** Builds the allowlist of prompts and resources with the operator's role, which may use all of them unless it is listed. */
function mcpContentOf(config: Pick<Config, 'roles' | 'unlisted'>): McpContentAllowlist {
  const mcpContent = configuredMcpContent(config);
  return config.roles.operator === undefined ? mcpContent.withRole('operator', allMcpContent) : mcpContent;
}

const allMcpContent: McpContentPatterns = { prompts: ['*'], resources: ['*:*'] };

/** Builds the allowlist of the prompts and resources that both configurations allow, as {@link commonAllowlist} does for tools. */
function commonMcpContent(before: Config, after: Config): McpContentAllowlist {
  const names = new Set([...Object.keys(before.roles), ...Object.keys(after.roles)]);
  const patternsOf = ({ roles, unlisted }: Config, role: string): McpContentPatterns =>
    roles[role] ?? (unlisted === 'allow' ? allMcpContent : {});
  const roles = [...names].map((role) => {
    const [one, other] = [patternsOf(before, role), patternsOf(after, role)];
    const prompts = commonPatterns('*', one.prompts, other.prompts);
    const resources = commonPatterns('*:*', one.resources, other.resources);
    return [role, { tools: [] as string[], prompts, resources }] as const;
  });
  const unlisted = before.unlisted === 'deny' ? 'deny' : after.unlisted;
  return mcpContentOf({ roles: Object.fromEntries(roles), unlisted });
}

function commonRepeat(before: Config, after: Config, renamed: readonly RenamedTool[]): Policy['repeat'] {
  const [one, other] = [repeatLists(before, renamed), repeatLists(after, renamed)];
  return {
    safe: commonPatterns('*', one.safe, other.safe),
    never: [...(one.never ?? []), ...(other.never ?? [])],
  };
}

function commonPatterns<Pattern extends ToolRule>(
  every: Pattern,
  one: readonly Pattern[] = [],
  other: readonly Pattern[] = [],
): Pattern[] {
  if (one.includes(every)) return [...other];
  if (other.includes(every)) return [...one];
  const texts = new Set(other.map((pattern) => JSON.stringify(pattern)));
  return one.filter((pattern) => texts.has(JSON.stringify(pattern)));
}

function commonTools(role: string, ...configs: [Config, Config]): ToolRule[] {
  const [one, other] = configs.map(({ roles, unlisted }) => {
    return roles[role]?.tools ?? (unlisted === 'allow' ? ['*'] : []);
  }) as [ToolRule[], ToolRule[]];
  return commonPatterns<ToolRule>('*', one, other);
}

/** Lets the operator's role use every tool unless the configuration lists it: the operator could issue itself any role. */
function withOperator(allowlist: RoleToolAllowlist, { roles }: Pick<Config, 'roles'>): RoleToolAllowlist {
  return roles.operator === undefined ? allowlist.withRole('operator', ['*']) : allowlist;
}

function budgetsOf({ orchestrator, roles }: Config): Policy['budgets'] {
  const { perWorker } = orchestrator.budgets;
  return {
    ...(perWorker && { perWorker: budgetOf(perWorker) }),
    roles: definedValues(roles, ({ budget }) => budget && budgetOf(budget)),
    perRole: definedValues(roles, ({ sharedBudget }) => sharedBudget && budgetOf(sharedBudget)),
  };
}

function mailboxRuleOf({ mailbox, unreadHint }: Config['roles'][string]): MailboxRule | undefined {
  if (mailbox === undefined && unreadHint === undefined) return undefined;
  return { ...(mailbox !== undefined && { tools: mailbox }), ...(unreadHint && { unreadHint }) };
}

function resultRuleOf(results: Config['roles'][string]['results']): ResultRule | undefined {
  const { maxInlineBytes } = results ?? {};
  return maxInlineBytes === undefined ? undefined : { maxInlineBytes };
}

function budgetOf({ calls, perSeconds }: BudgetEntry): { calls: number; windowMs: number } {
  return { calls, windowMs: perSeconds * 1000 };
}
