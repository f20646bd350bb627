import { isAgentId, SignalboxError } from '@signalbox/protocol';

/** The facts that decide the names of agents. `pattern` is that of a minting token, `own` is the agent of a plain token. */
export interface NameFacts {
  agent?: string;
  count: number;
  pattern?: string;
  own?: string;
}

/** Decides the ids of the agents to run. Throws `usage` with the option that is wrong. */
export function agentNames({ agent, count, pattern, own }: NameFacts): string[] {
  if (own !== undefined) return [ownName(own, agent, count)];
  const wanted = agent ?? pattern;
  if (wanted === undefined) throw usage('which agent is it?', 'name it with --agent NAME');
  const prefix = wanted.endsWith('*') ? wanted.slice(0, -1) : count > 1 ? `${wanted}-` : undefined;
  const names =
    prefix === undefined ? [wanted] : Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
  const bad = names.find((name) => !isAgentId(name));
  if (bad !== undefined) {
    throw usage(`--agent: '${bad}' is not an agent id`, 'ids are lower-case, as in writer-1');
  }
  if (pattern === undefined || names.every((name) => name.startsWith(pattern.slice(0, -1)))) return names;
  throw usage(
    `--agent: the token is for agents named ${pattern}, not for '${wanted}'`,
    `use a name under ${pattern}`,
  );
}

function ownName(own: string, agent: string | undefined, count: number): string {
  if (agent !== undefined && agent !== own) {
    throw usage(`--agent: the token is for '${own}', not for '${agent}'`, mintingHint);
  }
  if (count > 1) throw usage(`--count: the token is for one agent, '${own}'`, mintingHint);
  return own;
}

const mintingHint =
  'use a token that may make others (signalbox token issue --agent ‘ci-*’ …), or act as the operator with --config or --data';

function usage(message: string, hint: string): SignalboxError {
  return new SignalboxError('usage', message, { details: { hint } });
}
