import { isConfiguredSender } from './configured-sender.ts';

/** Matches an agent id. */
export const agentPattern = /^[a-z0-9][a-z0-9_.-]{0,127}$/;

/** Matches an agent id (`agent`) or the address of one of its sub-inboxes (`agent#sub`). */
export const addressPattern = /^[a-z0-9][a-z0-9_.-]{0,127}(?:#[A-Za-z0-9_.-]{1,64})?$/;

/** Matches the address of a group: `group:crawlers` as the configuration names it, or `role:crawler` for all agents of a role. */
export const groupPattern = /^(?:group|role):[a-z0-9][a-z0-9_.-]{0,63}$/;

/** Matches a recipient of messages: an address, or the address of a group. */
export const recipientPattern = new RegExp(`${addressPattern.source}|${groupPattern.source}`);

/** The parts of an address. `sub` is absent for the inbox of the agent itself. */
export interface Address {
  agent: string;
  sub?: string;
}

/** Tells whether a text is an agent id: 1 to 128 characters, `[a-z0-9][a-z0-9_.-]*`. */
export function isAgentId(text: string): boolean {
  return agentPattern.test(text);
}

/** Tells whether a text is an address: `agent` or `agent#sub`. */
export function isAddress(text: string): boolean {
  return addressPattern.test(text);
}

/** Tells whether a text is a recipient of messages: an address, or the address of a group. */
export function isRecipient(text: string): boolean {
  return recipientPattern.test(text);
}

/** Tells whether a recipient is a group. The recipient must be valid: only addresses of groups have a colon. */
export function isGroup(recipient: string): boolean {
  return recipient.includes(':');
}

/** Tells whether a text is the address of a group: `group:NAME` or `role:ROLE`. */
export function isGroupName(text: string): boolean {
  return groupPattern.test(text);
}

/** Returns the role whose agents are the members of a group `role:ROLE`. Returns `undefined` for a group of the configuration. */
export function roleOfGroup(group: string): string | undefined {
  return group.startsWith('role:') ? group.slice('role:'.length) : undefined;
}

/**
 * Returns the address of a connection by which an agent takes messages of a group. It is one of the agent's sub-inboxes. Without a `name`,
 * returns the prefix that these addresses share.
 */
export function memberAddress(agent: string, name = ''): string {
  return `${agent}#grp-${name}`;
}

/** Splits an address into its parts. Returns `undefined` for a text that is not an address. */
export function parseAddress(text: string): Address | undefined {
  if (!addressPattern.test(text)) return undefined;
  const hash = text.indexOf('#');
  return hash < 0 ? { agent: text } : { agent: text.slice(0, hash), sub: text.slice(hash + 1) };
}

/** Returns the agent id of an address. The address must be valid. */
export function agentOf(address: string): string {
  const hash = address.indexOf('#');
  return hash < 0 ? address : address.slice(0, hash);
}

/** Tells whether an address is a sub-inbox (`agent#sub`). The broker empties a sub-inbox some time after its last holder left. */
export function isSubInbox(address: string): boolean {
  return address.includes('#');
}

const reserved = new Set(['broker', 'operator', 'orchestrator', 'human', 'system']);

/**
 * Tells whether a name is reserved for the system, or looks like that of an operator, such as `operator.alice`. Separators are ignored, so
 * `o-r.chestrator` is reserved too. So are the names of configured senders, such as `hook.github`, and of orchestrators with a label.
 */
export function isReservedName(agent: string): boolean {
  const plain = agent.replace(/[_.-]/g, '');
  return (
    reserved.has(plain) || plain.startsWith('operator') || isConfiguredSender(agent) || isHostAgent(agent)
  );
}

/** Matches the label of an orchestrator. */
export const hostLabelPattern = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/** Returns the agent id of the orchestrators with a label, such as `orchestrator.gpu`. */
export function hostAgent(label: string): string {
  return `orchestrator.${label}`;
}

/** Tells whether an agent id is that of the orchestrators with a label. */
export function isHostAgent(agent: string): boolean {
  return agent.startsWith('orchestrator.') && hostLabelPattern.test(agent.slice('orchestrator.'.length));
}

const operatorPattern = /^operator\.[a-z0-9][a-z0-9_-]{0,63}$/;

/** Tells whether a name is that of a named operator, such as `operator.alice`. */
export function isNamedOperator(agent: string): boolean {
  return operatorPattern.test(agent);
}

/** Tells whether a name is that of an operator: a named one, or one of the first, who need no name. */
export function isOperator(agent: string): boolean {
  return agent === 'operator' || agent === 'human' || isNamedOperator(agent);
}
