import { agentOf } from '@signalbox/protocol';
import {
  type Connection,
  type ConnectionFlags,
  namedToken,
  resolveConnection,
} from '../../broker-connection/connection.ts';

/** What the token that we were given may do for the agents that we run. */
export type TokenKind = 'operator' | 'minting' | 'plain';

export interface RunIdentity {
  connection: Connection;
  kind: TokenKind;
  /** What a minting token may name, as in `ci-*`. */
  pattern?: string;
}

const mintingName = 'minting';

/**
 * Where the broker is and what our token is good for. `SIGNALBOX_AGENT` says who started us, not who the agents are, so a
 * token that names its agent is taken at its word. Throws as `resolveConnection`.
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
