/** The tools by which an agent's MCP client writes to other agents and reads its inbox, in the order of their list. */
export const mailboxToolNames = [
  'signalbox_list_agents',
  'signalbox_send_message',
  'signalbox_ask_agent',
  'signalbox_ask_result',
  'signalbox_call_result',
  'signalbox_inbox_read',
  'signalbox_inbox_wait',
  'signalbox_reply',
] as const;
/** The name of a mailbox tool. */
export type MailboxToolName = (typeof mailboxToolNames)[number];

/** The names of the mailbox tools that a role sees, or `false` if it sees none. */
export type MailboxAccess = false | readonly string[];

/**
 * The ways in which the agents of a role are told about new mail. `text`: results of tools mention it in their text. `meta`: only `_meta`
 * and the results of mailbox tools do. `off`: no result does.
 */
export const unreadHints = ['text', 'meta', 'off'] as const;
/** One of {@link unreadHints}. */
export type UnreadHint = (typeof unreadHints)[number];
