import { SignalboxError } from '@signalbox/protocol';
import type { ApprovalPolicy } from '../approvals/ask-rules.ts';
import { type CallBudgets, checkBudgets } from '../budgets/call-budgets.ts';
import type { MailboxRules } from '../catalog/catalog.ts';
import { checkResultRules, type ResultRules } from '../results/result-rules.ts';
import type { RepeatLists } from '../roles/repeat-lists.ts';
import type { RoleOfferAllowlist } from '../roles/role-offer-allowlist.ts';
import type { RoleToolAllowlist } from '../roles/role-tool-allowlist.ts';
import { checkServerLimits, type ServerLimits } from '../scheduling/call-limits.ts';

/** The settings that can change while workers are connected. A setting that is left out keeps its value. */
export interface PolicyChanges {
  allowlist?: RoleToolAllowlist;
  /** The prompts and resources that each role may use. */
  offers?: RoleOfferAllowlist;
  repeat?: RepeatLists;
  budgets?: CallBudgets;
  /** The most calls that may run at once on a server, by its name. Other servers have the limit `perServer`. */
  serverConcurrency?: ServerLimits;
  /** The rules of calls that wait for a decision. Without a journal no call may wait. */
  approvals?: ApprovalPolicy;
  /** The part of its mailbox that each role sees. The broker's policy decides what a role may send. */
  mailbox?: MailboxRules;
  /** The rules which decide what results of each role are kept. */
  results?: ResultRules;
}

/**
 * Throws `SignalboxError` `bad_config`, naming the field, for invalid values: also for rules that make calls wait for a decision without a
 * journal.
 */
export function checkPolicy(
  { budgets = {}, serverConcurrency = {}, approvals, results = {} }: PolicyChanges,
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
