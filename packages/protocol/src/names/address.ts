const agentPattern = /^[a-z0-9][a-z0-9_.-]{0,127}$/;
const addressPattern = /^[a-z0-9][a-z0-9_.-]{0,127}(?:#[A-Za-z0-9_.-]{1,64})?$/;

/** Where a message can be delivered: an agent's inbox, or one of its sub-inboxes (`agent#sub`). */
export interface Address {
  agent: string;
  sub?: string;
}

/** True for a lower-case agent id of 1 to 128 characters, `[a-z0-9][a-z0-9_.-]*`. */
export function isAgentId(text: string): boolean {
  return agentPattern.test(text);
}

/** True for `agent` or `agent#sub`. */
export function isAddress(text: string): boolean {
  return addressPattern.test(text);
}

/** Splits `agent` or `agent#sub`; `undefined` for anything else. */
export function parseAddress(text: string): Address | undefined {
  if (!addressPattern.test(text)) return undefined;
  const hash = text.indexOf('#');
  return hash < 0 ? { agent: text } : { agent: text.slice(0, hash), sub: text.slice(hash + 1) };
}

/** The agent part of an address that is known to be valid. */
export function agentOf(address: string): string {
  const hash = address.indexOf('#');
  return hash < 0 ? address : address.slice(0, hash);
}

/** True for `agent#sub`: an inbox that is removed some time after nobody holds it. */
export function isSubInbox(address: string): boolean {
  return address.includes('#');
}

const reserved = new Set(['broker', 'operator', 'orchestrator', 'human', 'system']);

/** True for a name that looks like one of the system's own, separators ignored (`o-r.chestrator` counts). */
export function isReservedName(agent: string): boolean {
  return reserved.has(agent.replace(/[_.-]/g, ''));
}
