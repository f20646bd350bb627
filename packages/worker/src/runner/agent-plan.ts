import { join } from 'node:path';
import type { Injection } from '../clients/injection.ts';
import { injectionFor, notInjected } from '../clients/injection-table.ts';
import { agentVariables } from './child-environment.ts';

/** Who the agent is and what it is started with. */
export interface AgentSetup {
  agent: string;
  /** The broker. */
  url: string;
  /** The command that is an MCP face on standard input and output; `command` is absolute. */
  shim: { command: string; args: string[] };
  /** The agent's command line as it was given. */
  argv: readonly string[];
  cwd: string;
  /** What the agent inherits, without `SIGNALBOX_*`. */
  env: Readonly<Record<string, string>>;
  inject: boolean;
  keepMcp: boolean;
  /** See `InjectionContext`. */
  systemSettings?: string;
}

/** All that one process of an agent is given. */
export interface AgentPlan {
  injection: Injection;
  /** Variables that are set for it, in addition to those it inherits. */
  variables: Record<string, string>;
  tokenFile: string;
}

/** Decides it without doing anything. Throws `SignalboxError` `usage` where the agent can't be told of its MCP face. */
export function planAgent(setup: AgentSetup, runDirectory: string): AgentPlan {
  const { agent, url, shim, argv, cwd, env, inject, keepMcp, systemSettings } = setup;
  const tokenFile = join(runDirectory, 'token');
  const own = agentVariables({ url, agent, tokenFile });
  const injection = inject
    ? injectionFor(argv, {
        shim: { ...shim, env: own },
        runDirectory,
        cwd,
        env,
        keepMcp,
        ...(systemSettings !== undefined && { systemSettings }),
      })
    : notInjected(argv);
  return { injection, variables: { ...own, ...injection.env }, tokenFile };
}

/** Gemini CLI leaves out settings that lie under a directory others may write to, sticky or not. */
export function needsStrictDirectory({ injection }: AgentPlan): boolean {
  return injection.client === 'gemini';
}
