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

/** The names of the rules that match a call. */
export interface MatchingRules {
  /** The first rule that makes the call wait; `undefined` if it does not wait. */
  asks: string | undefined;
  /** Returns the first rule that denies the call if a value of it would be hidden; `undefined` if none does. */
  deniesHidden: () => string | undefined;
}

/** Finds the rules that match a call of a role. They share one reading of the arguments. */
export function matchingRules(
  { roles }: Pick<ApprovalPolicy, 'roles'>,
  role: string,
  tool: AskedTool,
  args: Readonly<Record<string, unknown>>,
): MatchingRules {
  const matcher = new ArgumentMatcher(args);
  const first = (counts: (rule: AskRule) => boolean): string | undefined => {
    const means = (rule: AskRule) => counts(rule) && meansTool(rule, tool) && meansArguments(rule, matcher);
    const at = rulesOf(roles, role)?.findIndex(means) ?? -1;
    return at < 0 ? undefined : ruleName(role, at);
  };
  return { asks: first(() => true), deniesHidden: () => first(deniesHidden) };
}

/** Tells whether some call of the tool by this role may have to wait. */
export function mayAsk({ roles }: Pick<ApprovalPolicy, 'roles'>, role: string, tool: AskedTool): boolean {
  return rulesOf(roles, role)?.some((rule) => meansTool(rule, tool)) ?? false;
}

/** Says whether calls wait, and the names of the rules that decide that. */
export interface AskExplanation {
  ask: 'no' | 'yes' | 'by_arguments';
  /** The rule that makes calls wait. */
  rule?: string | undefined;
  /** The rule that denies a call if a value of it would be hidden from those who decide. */
  hiddenRule?: string | undefined;
}

/** Tells whether calls of the tool by this role wait, or whether that depends on their arguments. */
export function explainAsk(
  { roles }: Pick<ApprovalPolicy, 'roles'>,
  role: string,
  tool: AskedTool,
): AskExplanation {
  const rules = [...(rulesOf(roles, role) ?? []).entries()].filter(([, rule]) => meansTool(rule, tool));
  const nameOf = (found: (typeof rules)[number] | undefined) => found && ruleName(role, found[0]);
  const always = nameOf(rules.find(([, rule]) => whenOf(rule) === undefined));
  const rule = always ?? nameOf(rules[0]);
  if (rule === undefined) return { ask: 'no' };
  const hiddenRule = nameOf(rules.find(([, one]) => deniesHidden(one)));
  return { ask: always === undefined ? 'by_arguments' : 'yes', rule, hiddenRule };
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

function deniesHidden(rule: AskRule): boolean {
  return typeof rule === 'object' && rule.hidden === 'deny';
}

function whenOf(rule: AskRule): ArgumentPatterns | undefined {
  return typeof rule === 'string' ? undefined : rule.when;
}

function meansArguments(rule: AskRule, matcher: ArgumentMatcher): boolean {
  const when = whenOf(rule);
  return when === undefined || matcher.matches(when);
}
