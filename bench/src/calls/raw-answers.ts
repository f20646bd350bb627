/** A message of JSON-RPC, as far as the clients of the bench look at it. */
export interface RawAnswer {
  id?: number;
  result?: unknown;
  error?: unknown;
}

/** The first request of every session. */
export const initializeParams = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1.0.0' },
};

export const initializedNotification = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

/** Throws unless the text of an answer holds the message that was sent. */
export function check(message: string, text: string): void {
  if (!text.includes(message)) throw new Error(`the call '${message}' was answered with ${text}`);
}
