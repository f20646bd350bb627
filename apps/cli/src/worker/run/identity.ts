import { agentOf, agentOfToken, isAgentId, isJwt, mintingPatternOf } from '@signalbox/protocol';
import {
  type Connection,
  type ConnectionFlags,
  namedToken,
  resolveConnection,
} from '../../connection/connection.ts';

/** The kinds of tokens: the operator's, one that issues others under a pattern, or that of one agent. */
export type TokenKind = 'operator' | 'minting' | 'plain';

/** The connection of `signalbox worker run`, the kind of its token, and the agent id of the orchestrator of its agents. */
export interface RunIdentity {
  connection: Connection;
  orchestrator: string;
  kind: TokenKind;
}

/**
 * Finds the broker and the kind of our token. `SIGNALBOX_AGENT` names the agent that started us, and not the agents to run,
 * so a token that names its agent decides. `flags.agent` is the agent to run: a JWT is taken for its token, since only the broker knows
 * which claim names the agent. Rejects as `resolveConnection`.
 */
export async function runIdentity(
  { agent: wanted, ...flags }: ConnectionFlags,
  env: NodeJS.ProcessEnv,
): Promise<RunIdentity> {
  const { SIGNALBOX_AGENT, ...anonymous } = env;
  const named = namedToken(flags, env);
  const holder = named && holderOf(named.token, wanted);
  const connection = await resolveConnection(
    { ...flags, ...(holder !== undefined && { agent: holder }) },
    named ? anonymous : env,
  );
  const orchestrator = await connection.orchestrator();
  if (connection.mintingPattern !== undefined) return { connection, orchestrator, kind: 'minting' };
  const agent = agentOf(connection.agent);
  const kind = agent === 'operator' || agent === 'human' ? 'operator' : 'plain';
  return { connection, orchestrator, kind };
}

function holderOf(token: string, agent: string | undefined): string | undefined {
  if (!isJwt(token) || mintingPatternOf(token) !== undefined) return undefined;
  return agent !== undefined && isAgentId(agent) ? agent : agentOfToken(token);
}
