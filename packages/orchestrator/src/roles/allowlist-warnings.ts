import { closest } from 'fastest-levenshtein';
import type { CallBudgets } from '../budgets/call-budgets.ts';
import type { RepeatLists } from './repeat-lists.ts';
import type { RoleToolAllowlist } from './role-tool-allowlist.ts';
import { matchesPattern } from './tool-pattern.ts';

/** A part of the policy that means nothing, with the tool name or role that is most like it. */
export interface AllowlistWarning {
  /** Absent for the lists of what may be repeated, which are for all roles. */
  role?: string;
  /** Absent where the role itself is the trouble. */
  pattern?: string;
  nearest?: string;
  message: string;
}

/**
 * What is probably mistyped in a policy: patterns of the allowlist and of the lists of what may be repeated that match
 * none of `tools` (listed or hidden), and roles of the allowlist and the budgets that are not among `roles` (those that
 * tokens have; not checked when left out).
 */
export function allowlistWarnings(
  allowlist: RoleToolAllowlist,
  known: { tools: readonly string[]; roles?: readonly string[] },
  { repeat = {}, budgets = {} }: { repeat?: RepeatLists; budgets?: CallBudgets } = {},
): AllowlistWarning[] {
  const isDead = (pattern: string) => !known.tools.some((tool) => matchesPattern(pattern, tool));
  const isNobody = (role: string) => known.roles !== undefined && !known.roles.includes(role);
  const warnings: AllowlistWarning[] = [];
  for (const [role, patterns] of allowlist.entries()) {
    if (isNobody(role)) warnings.push(unknownRole(role, known.roles, `no token has the role '${role}'`));
    for (const pattern of patterns.filter(isDead)) {
      warnings.push({ role, ...deadPattern(`role '${role}'`, pattern, known.tools) });
    }
  }
  const lists = { safeToRepeat: repeat.safe, neverRepeat: repeat.never };
  for (const [list, patterns = []] of Object.entries(lists)) {
    for (const pattern of patterns.filter(isDead)) warnings.push(deadPattern(list, pattern, known.tools));
  }
  const withBudget = new Set([...Object.keys(budgets.roles ?? {}), ...Object.keys(budgets.perRole ?? {})]);
  for (const role of [...withBudget].filter(isNobody)) {
    warnings.push(unknownRole(role, known.roles, `the role '${role}' has a budget, but no token has it`));
  }
  return warnings;
}

function unknownRole(role: string, roles: readonly string[] | undefined, what: string): AllowlistWarning {
  const nearest = closest(role, roles ?? []);
  const hint = nearest ? `; the most similar role is '${nearest}'` : '';
  return { role, ...(nearest && { nearest }), message: `${what}${hint}` };
}

function deadPattern(where: string, pattern: string, tools: readonly string[]): AllowlistWarning {
  const nearest = closest(pattern, tools);
  const hint = nearest ? `; the most similar tool is '${nearest}'` : '; no tools are known';
  return {
    pattern,
    ...(nearest && { nearest }),
    message: `${where}: '${pattern}' matches no tool${hint}`,
  };
}
