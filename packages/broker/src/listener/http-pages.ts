import type { IncomingMessage, ServerResponse } from 'node:http';

/** Answers the HTTP requests for pages of a program that runs a broker. */
export interface HttpPages {
  /** Tells whether it answers requests for a path. */
  covers(path: string): boolean;
  /**
   * Answers one request. `admit` is called when the caller has proved its identity, so that strangers can't displace the connection. Never
   * rejects.
   */
  handle(request: IncomingMessage, response: ServerResponse, admit: () => void): Promise<void>;
  /** Ends its running answers, because the broker stops. */
  stop(): void;
}
