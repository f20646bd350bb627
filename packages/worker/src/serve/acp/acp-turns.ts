import { SignalboxError } from '@signalbox/protocol';
import { hasOption } from '../program/turn-options.ts';
import type { TurnProgram } from '../program/turn-program.ts';
import { type AcpAgent, acpAgentOf, unknownAcpAgent } from './acp-agents.ts';
import { AcpTalker, type AcpTurns } from './acp-talk.ts';
import type { Permissions } from './agent-questions.ts';

/** The options of the command line that decide how an agent takes turns by ACP. */
export interface AcpFlags {
  /** True: the program speaks ACP, although it is in no table. */
  acp?: boolean | undefined;
  /** `cli`: the agent is to do as it does by itself, and nobody answers its questions. */
  permissions: 'cli' | Permissions;
  mode?: string | undefined;
  version: string;
}

/** Returns the agent that a command line starts with ACP, or `undefined` if it does not speak ACP. */
export function acpAgentFor(argv: readonly string[], { acp }: Pick<AcpFlags, 'acp'>): AcpAgent | undefined {
  return acpAgentOf(argv) ?? (acp ? unknownAcpAgent(argv) : undefined);
}

/** Takes turns with an agent that speaks ACP. Throws `SignalboxError` `usage` for options with which it would ask nobody. */
export function acpTurns(
  agent: AcpAgent,
  argv: readonly string[],
  { permissions, mode, version }: AcpFlags,
): TurnProgram {
  if (permissions === 'ask' || permissions === 'deny') refuseSilent(agent, argv, { permissions, mode });
  const turns: AcpTurns = { agent, permissions: permissions === 'cli' ? 'deny' : permissions, mode, version };
  return {
    ...(agent.forgets !== undefined && { forgets: agent.forgets }),
    command: ({ argv }) => ({ argv, stdin: '' }),
    answer: () => ({ text: '' }),
    talk: (process) => new AcpTalker(process, turns),
  };
}

function refuseSilent(
  agent: AcpAgent,
  [, ...words]: readonly string[],
  { permissions, mode }: Pick<AcpFlags, 'permissions' | 'mode'>,
): void {
  const refusal = (message: string, hint: string) =>
    new SignalboxError('usage', `--permissions ${permissions}: ${message}`, { details: { hint } });
  if (agent.neverAsks !== undefined) throw refusal(agent.neverAsks, 'leave --permissions out');
  const silent = agent.silent?.find((option) => hasOption(words, [option]));
  if (silent !== undefined)
    throw refusal(`with ${silent} ${agent.name} asks nobody`, 'leave one of them out');
  if (mode === undefined || !agent.asking || agent.asking.includes(mode)) return;
  throw refusal(
    `in its mode '${mode}' ${agent.name} asks nobody`,
    `leave --mode out, or name one of ${agent.asking.join(', ')}`,
  );
}
