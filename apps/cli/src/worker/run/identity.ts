import { agentOf } from '@signalbox/protocol';
import {
  type Connection,
  type ConnectionFlags,
  namedToken,
  resolveConnection,
} from '../../connection/connection.ts';

/** The kinds of tokens: the operator's, one that issues others under a pattern, or that of one agent. */
export type TokenKind = 'operator' | 'minting' | 'plain';

/** The connection of `signalbox worker run`, and what its token may do. */
export interface RunIdentity {
  connection: Connection;
  kind: TokenKind;
  /** The pattern of agents that a minting token may issue tokens for, as in `ci-*`. */
  pattern?: string;
}

const mintingName = 'minting';

/**
 * Finds the broker and the kind of our token. `SIGNALBOX_AGENT` names who started us, and not the agents to run, so a
 * token that names its agent decides. Rejects as `resolveConnection`.
 */
export async function runIdentity(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Promise<RunIdentity> {
  const { SIGNALBOX_AGENT, ...anonymous } = env;
  const connection = await resolveConnection(flags, namedToken(flags, env) ? anonymous : env);
  const agent = agentOf(connection.agent);
  if (connection.minting) {
    return { connection, kind: 'minting', pattern: `${agent.slice(0, -mintingName.length)}*` };
  }
  return { connection, kind: agent === 'operator' || agent === 'human' ? 'operator' : 'plain' };
}
