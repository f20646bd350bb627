import type { ToolOrigin } from '@signalbox/mcp-host';
import { defaultAskDeadlineMs, type Tool } from '@signalbox/protocol';
import { matchesTool } from '../roles/tool-pattern.ts';
import { ArgumentMatcher, type ArgumentPatterns } from './argument-patterns.ts';

/**
 * A rule that makes calls wait for a decision: a pattern of tools, or an object whose parts must all match. `annotations: destructive`
 * matches a tool unless its server declares it to be read-only or not destructive. `hidden: deny` denies a matching call if a value of it
 * would be hidden from those who decide.
 */
export type AskRule =
  | string
  | {
      tool?: string | undefined;
      when?: ArgumentPatterns | undefined;
      annotations?: 'destructive' | undefined;
      hidden?: 'deny' | undefined;
    };

/** The rules on calls that wait for a decision. */
export interface ApprovalPolicy {
  /** The rules of each role, by its name. A call waits if any of them matches. */
  roles: Readonly<Record<string, readonly AskRule[]>>;
  /** The time after which a waiting call ends, in milliseconds. */
  deadlineMs: number;
  /** The agents and groups that get a note of each call that waits. */
  notify: readonly string[];
}

/** A policy under which no call waits. */
export const noApprovals: ApprovalPolicy = { roles: {}, deadlineMs: defaultAskDeadlineMs, notify: [] };

/** A tool, and its origin if that is known. */
export interface AskedTool {
  tool: Tool;
  origin: ToolOrigin | undefined;
}

/** Returns the name of the first rule that makes this call of a role wait; `undefined` if it does not wait. */
export function askRuleFor(
  { roles }: Pick<ApprovalPolicy, 'roles'>,
  role: string,
  tool: AskedTool,
  args: Readonly<Record<string, unknown>>,
): string | undefined {
  return firstRule(roles, role, tool, args, () => true);
}

/** Returns the name of the first rule that denies this call of a role if a value of it would be hidden; `undefined` if none does. */
export function denyHiddenRuleFor(
  { roles }: Pick<ApprovalPolicy, 'roles'>,
  role: string,
  tool: AskedTool,
  args: Readonly<Record<string, unknown>>,
): string | undefined {
  return firstRule(roles, role, tool, args, (rule) => typeof rule === 'object' && rule.hidden === 'deny');
}

function firstRule(
  roles: ApprovalPolicy['roles'],
  role: string,
  tool: AskedTool,
  args: Readonly<Record<string, unknown>>,
  counts: (rule: AskRule) => boolean,
): string | undefined {
  const matcher = new ArgumentMatcher(args);
  const means = (rule: AskRule): boolean =>
    counts(rule) && meansTool(rule, tool) && meansArguments(rule, matcher);
  const at = rulesOf(roles, role)?.findIndex(means) ?? -1;
  return at < 0 ? undefined : ruleName(role, at);
}

/** Tells whether some call of the tool by this role may have to wait. */
export function mayAsk({ roles }: Pick<ApprovalPolicy, 'roles'>, role: string, tool: AskedTool): boolean {
  return rulesOf(roles, role)?.some((rule) => meansTool(rule, tool)) ?? false;
}

/** Tells whether calls of the tool by this role wait, and which rule decides it. Without arguments, the answer may depend on them. */
export function explainAsk(
  { roles }: Pick<ApprovalPolicy, 'roles'>,
  role: string,
  tool: AskedTool,
  args: Readonly<Record<string, unknown>> | undefined,
): { ask: 'no' | 'yes' | 'by_arguments'; ask_rule?: string } {
  const matching = [...(rulesOf(roles, role) ?? []).entries()].filter(([, rule]) => meansTool(rule, tool));
  const matcher = args && new ArgumentMatcher(args);
  const [always] = matching.filter(([, rule]) =>
    matcher === undefined ? whenOf(rule) === undefined : meansArguments(rule, matcher),
  );
  if (always) return { ask: 'yes', ask_rule: ruleName(role, always[0]) };
  const [perhaps] = matching;
  if (args !== undefined || perhaps === undefined) return { ask: 'no' };
  return { ask: 'by_arguments', ask_rule: ruleName(role, perhaps[0]) };
}

function rulesOf(roles: ApprovalPolicy['roles'], role: string): readonly AskRule[] | undefined {
  return Object.hasOwn(roles, role) ? roles[role] : undefined;
}

function ruleName(role: string, at: number): string {
  return `roles.${role}.ask[${at}]`;
}

function meansTool(rule: AskRule, { tool, origin }: AskedTool): boolean {
  if (typeof rule === 'string') return matchesTool(rule, tool.name, origin);
  if (rule.tool !== undefined && !matchesTool(rule.tool, tool.name, origin)) return false;
  return rule.annotations === undefined || isDestructive(tool);
}

/** Tells whether a tool is destructive. By MCP, it is unless its server says otherwise. */
function isDestructive({ annotations }: Tool): boolean {
  return annotations?.readOnlyHint !== true && annotations?.destructiveHint !== false;
}

function whenOf(rule: AskRule): ArgumentPatterns | undefined {
  return typeof rule === 'string' ? undefined : rule.when;
}

function meansArguments(rule: AskRule, matcher: ArgumentMatcher): boolean {
  const when = whenOf(rule);
  return when === undefined || matcher.matches(when);
}
