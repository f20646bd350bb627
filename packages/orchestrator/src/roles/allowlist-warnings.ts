import { closest } from 'fastest-levenshtein';
import type { CallBudgets } from '../budgets/call-budgets.ts';
import type { RepeatLists } from './repeat-lists.ts';
import type { RoleToolAllowlist, ToolOrigins } from './role-tool-allowlist.ts';
import { matchesTool } from './tool-pattern.ts';

/** A part of the policy that has no effect and is probably mistyped. */
export interface AllowlistWarning {
  /** The role it concerns; absent for the repeat lists, which hold for all roles. */
  role?: string;
  /** The pattern that matches no tool; absent if the role itself is unknown. */
  pattern?: string;
  /** The known tool or role whose name is most similar. */
  nearest?: string;
  message: string;
}

/**
 * Finds what is probably mistyped in a policy: patterns of the allowlist and of the repeat lists that match none of
 * `tools` (listed or hidden), and roles of the allowlist and the budgets that are not in `roles`. `roles` are those
 * that tokens have; if they are left out, roles are not checked.
 */
export function allowlistWarnings(
  allowlist: RoleToolAllowlist,
  known: { tools: readonly string[]; origins?: ToolOrigins; roles?: readonly string[] },
  { repeat = {}, budgets = {} }: { repeat?: RepeatLists; budgets?: CallBudgets } = {},
): AllowlistWarning[] {
  const matchesNothing = (pattern: string) =>
    !known.tools.some((tool) => matchesTool(pattern, tool, known.origins?.get(tool)));
  const isUnknownRole = (role: string) => known.roles !== undefined && !known.roles.includes(role);
  const warnings: AllowlistWarning[] = [];
  for (const [role, patterns] of allowlist.entries()) {
    if (isUnknownRole(role)) warnings.push(unknownRole(role, known.roles, `no token has the role '${role}'`));
    for (const pattern of patterns.filter(matchesNothing)) {
      warnings.push({ role, ...unmatchedPattern(`role '${role}'`, pattern, known.tools) });
    }
  }
  const lists = { safeToRepeat: repeat.safe, neverRepeat: repeat.never };
  for (const [list, patterns = []] of Object.entries(lists)) {
    for (const pattern of patterns.filter(matchesNothing))
      warnings.push(unmatchedPattern(list, pattern, known.tools));
  }
  const withBudget = new Set([...Object.keys(budgets.roles ?? {}), ...Object.keys(budgets.perRole ?? {})]);
  for (const role of [...withBudget].filter(isUnknownRole)) {
    warnings.push(unknownRole(role, known.roles, `the role '${role}' has a budget, but no token has it`));
  }
  return warnings;
}

function unknownRole(role: string, roles: readonly string[] | undefined, what: string): AllowlistWarning {
  const nearest = closest(role, roles ?? []);
  const hint = nearest ? `; the most similar role is '${nearest}'` : '';
  return { role, ...(nearest && { nearest }), message: `${what}${hint}` };
}

function unmatchedPattern(where: string, pattern: string, tools: readonly string[]): AllowlistWarning {
  const nearest = closest(pattern, tools);
  const hint = nearest ? `; the most similar tool is '${nearest}'` : '; no tools are known';
  return {
    pattern,
    ...(nearest && { nearest }),
    message: `${where}: '${pattern}' matches no tool${hint}`,
  };
}
