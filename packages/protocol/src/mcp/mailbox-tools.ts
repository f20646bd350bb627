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
export type MailboxToolName = (typeof mailboxToolNames)[number];

/** Which of them a role is shown: none, or those of a list. */
export type MailboxAccess = false | readonly string[];
