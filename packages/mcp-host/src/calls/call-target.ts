import type { McpServerConfig } from '../config/server-config.ts';
import type { ServerConnection } from '../sdk/connect-server.ts';

/** What a call needs of the instance that serves it. */
export interface CallTarget {
  /** Of the server, as configured. */
  readonly name: string;
  /** Which of the server's instances this is: empty for the one that serves everybody, else such as `role:researcher`. */
  readonly instance: string;
  readonly config: McpServerConfig;
  /** Takes the secrets of the server's configuration out of a text. */
  readonly redact: (text: string) => string;
  /** Why it is down or was last; free of secrets. */
  readonly lastError: string | undefined;
  /** The connection that is open now, if one is. */
  readonly openConnection: ServerConnection | undefined;
  /** An open connection, now or when there is one; `undefined` when time is up, or at once when none will come. */
  connection(timeoutMs: number, signal: AbortSignal): Promise<ServerConnection | undefined>;
  /** A session that is made after this call, in place of the present one. Calls at the same time share it. */
  freshConnection(timeoutMs: number, signal: AbortSignal): Promise<ServerConnection | undefined>;
  /** A request on one of its connections begins, which is not closed before as many calls of {@link release}. */
  hold(connection: ServerConnection): void;
  release(connection: ServerConnection): void;
}
