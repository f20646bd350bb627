import { closest } from 'fastest-levenshtein';
import type { RoleToolAllowlist } from './role-tool-allowlist.ts';
import { matchesPattern } from './tool-pattern.ts';

/** A pattern that allows nothing, with the tool name or role that is most like it. */
export interface AllowlistWarning {
  role: string;
  /** Absent where the role itself is the trouble. */
  pattern?: string;
  nearest?: string;
  message: string;
}

/**
 * What is probably mistyped in an allowlist: patterns that match none of `tools`, and roles that are not among
 * `roles` (those that tokens have; not checked when left out).
 */
export function allowlistWarnings(
  allowlist: RoleToolAllowlist,
  known: { tools: readonly string[]; roles?: readonly string[] },
): AllowlistWarning[] {
  const warnings: AllowlistWarning[] = [];
  for (const [role, patterns] of allowlist.entries()) {
    if (known.roles && !known.roles.includes(role)) warnings.push(unknownRole(role, known.roles));
    for (const pattern of patterns) {
      if (known.tools.some((tool) => matchesPattern(pattern, tool))) continue;
      warnings.push(deadPattern(role, pattern, known.tools));
    }
  }
  return warnings;
}

function unknownRole(role: string, roles: readonly string[]): AllowlistWarning {
  const nearest = closest(role, roles);
  const hint = nearest ? `; the most similar role is '${nearest}'` : '';
  return { role, ...(nearest && { nearest }), message: `no token has the role '${role}'${hint}` };
}

function deadPattern(role: string, pattern: string, tools: readonly string[]): AllowlistWarning {
  const nearest = closest(pattern, tools);
  const hint = nearest ? `; the most similar tool is '${nearest}'` : '; no tools are known';
  return {
    role,
    pattern,
    ...(nearest && { nearest }),
    message: `role '${role}': '${pattern}' matches no tool${hint}`,
  };
}
