import { agentOf } from '@signalbox/protocol';
import {
  type Connection,
  type ConnectionFlags,
  namedToken,
  resolveConnection,
} from '../../connection/connection.ts';

/** The kinds of tokens: the operator's, one that issues others under a pattern, or that of one agent. */
export type TokenKind = 'operator' | 'minting' | 'plain';

/** The connection of `signalbox worker run`, and the kind of its token. */
export interface RunIdentity {
  connection: Connection;
  kind: TokenKind;
}

/**
 * Finds the broker and the kind of our token. `SIGNALBOX_AGENT` names the agent that started us, and not the agents to run,
 * so a token that names its agent decides. Rejects as `resolveConnection`.
 */
export async function runIdentity(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Promise<RunIdentity> {
  const { SIGNALBOX_AGENT, ...anonymous } = env;
  const connection = await resolveConnection(flags, namedToken(flags, env) ? anonymous : env);
  if (connection.mintingPattern !== undefined) return { connection, kind: 'minting' };
  const agent = agentOf(connection.agent);
  return { connection, kind: agent === 'operator' || agent === 'human' ? 'operator' : 'plain' };
}
