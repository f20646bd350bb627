/**
 * The operations that the gate measures: a message until its receipt, a message until it is taken and acked, a request until its reply, and
 * a tool call from an MCP client to a hosted server, of a tool that is safe to repeat and of one that is not.
 */
export const gateOperations = ['enqueue', 'consume', 'request', 'safe-call', 'unsafe-call'] as const;

export type GateOperation = (typeof gateOperations)[number];
