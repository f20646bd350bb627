import { SignalboxError } from '@signalbox/protocol';
import { type ApprovalPolicy, noApprovals } from '../approvals/ask-rules.ts';
import { type CallBudgets, checkBudgets } from '../budgets/call-budgets.ts';
import { checkResultRules, type ResultRules } from '../results/result-rules.ts';
import type { MailboxRules } from '../roles/mailbox-rules.ts';
import { McpContentAllowlist } from '../roles/mcp-content-allowlist.ts';
import type { RepeatLists } from '../roles/repeat-lists.ts';
import { RoleToolAllowlist } from '../roles/role-tool-allowlist.ts';
import { checkServerLimits, type ServerLimits } from '../scheduling/call-limits.ts';

/**
 * The rules of an orchestrator, which can change while workers are connected. Every rule is required, so that no place that makes a policy
 * can forget one.
 */
export interface Policy {
  /** The tools that each role may use. */
  allowlist: RoleToolAllowlist;
  /** The prompts and resources that each role may use. */
  mcpContent: McpContentAllowlist;
  /** Tools that may or must not be called again. These lists override the declarations of their servers. */
  repeat: RepeatLists;
  /** The budgets of tool calls. */
  budgets: CallBudgets;
  /** The most calls that may run at once on a server, by its name. Other servers have the limit `perServer`. */
  serverConcurrency: ServerLimits;
  /** The rules of calls that wait for a decision. Without a journal no call may wait. */
  approvals: ApprovalPolicy;
  /** The part of its mailbox that each role sees. The broker's policy decides what a role may send. */
  mailbox: MailboxRules;
  /** The rules which decide what results of each role are kept. */
  results: ResultRules;
}

/** The part of the policy that decides which tools each role sees, and how. */
export type ToolPolicy = Omit<Policy, 'budgets' | 'serverConcurrency'>;

/**
 * Completes a policy. Without an allowlist, every role may use every tool, prompt and resource. With one but without `mcpContent`, no role
 * may use any prompt or resource. No other rule restricts anything by default.
 */
export function wholePolicy(rules: Partial<Policy> = {}): Policy {
  return {
    allowlist: RoleToolAllowlist.unrestricted(),
    mcpContent: rules.allowlist
      ? McpContentAllowlist.fromEntries([], { unlisted: 'deny' })
      : McpContentAllowlist.unrestricted(),
    repeat: {},
    budgets: {},
    serverConcurrency: {},
    approvals: noApprovals,
    mailbox: {},
    results: {},
    ...rules,
  };
}

/**
 * Throws `SignalboxError` `bad_config`, naming the field, for invalid values: also for rules that make calls wait for a decision without a
 * journal.
 */
export function checkPolicy(
  { budgets = {}, serverConcurrency = {}, approvals, results = {} }: Partial<Policy>,
  { hasJournal }: { hasJournal: boolean },
): void {
  const [role] = Object.keys(approvals?.roles ?? {});
  if (role !== undefined && !hasJournal) {
    const message = `roles.${role}.ask needs a journal, which keeps the calls that wait; give the orchestrator one, or take ask out`;
    throw new SignalboxError('bad_config', message);
  }
  checkBudgets(budgets);
  checkServerLimits(serverConcurrency);
  checkResultRules(results);
}
