import { type CallBudgets, checkBudgets } from '../budgets/call-budgets.ts';
import type { MailboxRules } from '../catalog/catalog.ts';
import type { RepeatLists } from '../roles/repeat-lists.ts';
import type { RoleToolAllowlist } from '../roles/role-tool-allowlist.ts';
import { checkServerLimits, type ServerLimits } from '../scheduling/call-limits.ts';

/** What an operator may change while workers are connected; what is left out stays as it is. */
export interface PolicyChanges {
  allowlist?: RoleToolAllowlist;
  repeat?: RepeatLists;
  budgets?: CallBudgets;
  /** Calls that run at once on a server, by its name; for the others the limit for every server holds. */
  serverConcurrency?: ServerLimits;
  /** Which of the mailbox tools each role may see. The broker's own policy decides what it may send. */
  mailbox?: MailboxRules;
}

/** Throws `SignalboxError` `bad_config`, naming the field. */
export function checkPolicy({ budgets = {}, serverConcurrency = {} }: PolicyChanges): void {
  checkBudgets(budgets);
  checkServerLimits(serverConcurrency);
}
