/** Matches an agent id. */
export const agentPattern = /^[a-z0-9][a-z0-9_.-]{0,127}$/;

/** Matches an agent id (`agent`) or the address of one of its sub-inboxes (`agent#sub`). */
export const addressPattern = /^[a-z0-9][a-z0-9_.-]{0,127}(?:#[A-Za-z0-9_.-]{1,64})?$/;

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

/** Splits an address into its parts. Returns `undefined` for a text that is no address. */
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
 * Tells whether a name is one of the system's own, or looks like that of an operator, such as `operator.alice`. Separators are
 * ignored, so `o-r.chestrator` is reserved too.
 */
export function isReservedName(agent: string): boolean {
  const plain = agent.replace(/[_.-]/g, '');
  return reserved.has(plain) || plain.startsWith('operator');
}

const operatorPattern = /^operator\.[a-z0-9][a-z0-9_-]{0,63}$/;

/** Tells whether a name is that of an operator with a name of its own, such as `operator.alice`. */
export function isNamedOperator(agent: string): boolean {
  return operatorPattern.test(agent);
}
