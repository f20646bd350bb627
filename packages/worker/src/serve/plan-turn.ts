import { type AgentPlan, type AgentSetup, planAgent } from '../runner/agent-plan.ts';
import type { TurnProgram } from './program/turn-program.ts';

/**
 * Plans a turn for a sample message, without side effects. Throws `SignalboxError` `usage` for a command line that can't take turns.
 */
export function planTurn(
  setup: AgentSetup,
  { turns, group }: { turns: TurnProgram; group?: string | undefined },
  runDirectory: string,
): AgentPlan {
  const plan = planAgent({ ...setup, turn: { seqs: [0], group } }, runDirectory);
  const { agent, cwd } = setup;
  const { argv, env, files, notes } = plan.injection;
  const [prompt, text] = ['PROMPT', 'TEXT'];
  const turn = { agent, argv, cwd, messages: [], prompt, text, session: undefined, runDirectory };
  const command = turns.command(turn);
  const own = command.files ?? [];
  return {
    ...plan,
    injection: {
      ...plan.injection,
      argv: [...command.argv],
      files: [...files, ...own],
      notes: [...notes, ...(plan.sessionServer ? ['our MCP server is named to it in each session'] : [])],
    },
    variables: { ...plan.variables, ...env, ...command.env },
  };
}
