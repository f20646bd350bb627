import type { CancelSignal } from '@signalbox/protocol';
import type { McpServerConfig } from '../config/server-config.ts';
import type { ResultRedactor } from '../config/server-secrets.ts';
import type { ServerConnection } from '../server-connection.ts';
import type { Outage } from '../tool-calls/index.ts';

/** The instance that serves a call. */
export interface CallTarget {
  /** The name of the server in the configuration. */
  readonly name: string;
  /** The name of the instance: empty for the one that serves all callers, or for example `role:researcher`. */
  readonly instance: string;
  /** The configuration of the instance. */
  readonly config: McpServerConfig;
  /** Removes the secrets of the server's configuration from a text. */
  readonly redact: (text: string) => string;
  /** Removes the secrets of the server's configuration from its answers; `undefined` if it has none. */
  readonly redactResult: ResultRedactor | undefined;
  /** The reason why the instance is down, or why it was last down; free of secrets. */
  readonly lastError: string | undefined;
  /** Set while the instance is down, which means that its last starts have failed; calls then wait only briefly. */
  readonly outage: Outage | undefined;
  /** The connection that is open now, if there is one. */
  readonly openConnection: ServerConnection | undefined;
  /** Resolves with an open connection; with `undefined` when time is up, or earlier if no connection will open in time. */
  connection(timeoutMs: number, signal: CancelSignal): Promise<ServerConnection | undefined>;
  /** Replaces the present connection and resolves with the new connection. Calls at the same time share it. */
  freshConnection(timeoutMs: number, signal: CancelSignal): Promise<ServerConnection | undefined>;
}
