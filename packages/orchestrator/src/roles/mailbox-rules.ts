import type { MailboxAccess, UnreadHint } from '@signalbox/protocol';

/** The part of its mailbox that a role sees. */
export interface MailboxRule {
  /** The mailbox tools that it may see; all by default. */
  tools?: MailboxAccess;
  /** The way in which its agents are told of new mail; by default their faces decide that. */
  unreadHint?: UnreadHint;
}

/** The part of its mailbox that each role sees. A role without an entry sees all tools. */
export type MailboxRules = Readonly<Record<string, MailboxRule>>;
