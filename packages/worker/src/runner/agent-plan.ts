import { basename, join } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import type { FaceCommand, Injection, SystemSettings } from '../agent-clis/injection.ts';
import { clientOf, injectionFor, notInjected } from '../agent-clis/injection-table.ts';
import type { TurnRef } from '../mailbox/served/turn-messages.ts';
import { agentVariables } from './child-environment.ts';

/** Writes the shell command of a hook that asks a shared face for new mail. */
export type MailHookCommand = (facts: { tokenFile: string; faceSocket: string }) => string;

/** One agent, and the facts that its start depends on. */
export interface AgentSetup {
  agent: string;
  /** The broker's address. */
  url: string;
  /** True: plain `ws://` to another machine is allowed. */
  insecure: boolean;
  /** A file with the agent's token that another program writes and renews. Without it each process gets a token of its own. */
  tokenFile?: string;
  /** The Unix socket of a shared face; without it the face command serves in its own process. */
  faceSocket?: string | undefined;
  /** The file with the certificates of the only authorities to trust for `wss://`, and its content. */
  authorities?: { file: string; pem: string };
  /** The command that serves an MCP face on standard input and output; `command` is an absolute path. */
  faceCommand: Omit<FaceCommand, 'env'>;
  /** The agent's command line as it was given. */
  argv: readonly string[];
  /** The working directory of the agent. */
  cwd: string;
  /** The environment that the agent inherits, without `SIGNALBOX_*`. */
  env: Readonly<Record<string, string>>;
  /** True: the agent's CLI is told about the MCP face. */
  inject: boolean;
  /** True: the agent keeps its own MCP servers. */
  keepMcp: boolean;
  /** Set if the agent speaks ACP: the way in which it is told about the MCP face, and whether it is to ask its client before it uses tools of its own. */
  acp?: { server: 'session' | 'cli' | 'none'; asks: boolean };
  /** The settings of the command line, if the agent's CLI asks a person through the MCP face before it uses tools of its own. */
  settingsToAsk?: Readonly<Record<string, unknown>>;
  /** Makes the hook that tells the agent about new mail. Without it, or without a shared face, the CLI gets no hooks. */
  mailHook?: MailHookCommand;
  /** Makes the hook that wakes an idle agent when mail comes. Without a shared face the CLI gets none. */
  wakeHook?: MailHookCommand;
  /** True: the user approves every MCP server that the workspace names. */
  approveWorkspaceServers: boolean;
  /** Settings files of the machine's administrator that our file would replace, by the CLI that reads them. */
  systemSettings?: SystemSettings;
  /** Set if the process takes one turn of a served agent, or several. */
  turn?: TurnRef;
  /** The key of the process's place at the shared face, which its MCP face shows in place of a token. Set if it takes several turns. */
  seatKey?: string;
}

/** The command, variables and files of one process of an agent. */
export interface AgentPlan {
  /** The arguments, variables and files that tell the agent's CLI about the MCP face. */
  injection: Injection;
  /** The MCP face, if the agent is told about it in its session. */
  sessionServer?: FaceCommand;
  /** Variables that are added to the inherited ones. */
  variables: Record<string, string>;
  /** The file that holds the token. */
  tokenFile: string;
  /** True if that file is made for this process. */
  ownsTokenFile: boolean;
}

/** Plans one process of an agent, without side effects. Throws `SignalboxError` `usage` if the agent can't be told of its MCP face. */
export function planAgent(setup: AgentSetup, runDirectory: string): AgentPlan {
  const { agent, url, authorities, faceSocket, faceCommand, argv, cwd, env, inject, systemSettings } = setup;
  const { seatKey, turn, keepMcp, acp, settingsToAsk, mailHook, wakeHook, approveWorkspaceServers } = setup;
  const tokenFile = setup.tokenFile ?? join(runDirectory, 'token');
  const own = agentVariables({
    url,
    agent,
    tokenFile,
    faceSocket,
    caFile: authorities?.file,
    turn: turn && { ...turn, messageFile: messageFileIn(runDirectory) },
  });
  const seatKeyFile = join(runDirectory, 'seat-key');
  const face = {
    ...faceCommand,
    env: seatKey === undefined ? own : { ...own, SIGNALBOX_TOKEN_FILE: seatKeyFile },
  };
  const injects = inject && (acp === undefined || acp.server === 'cli');
  refuseUseless(injects ? argv[0] : undefined, setup);
  const injection = injects
    ? injectionFor(argv, {
        faceCommand: face,
        runDirectory,
        cwd,
        env,
        keepMcp,
        isTurn: turn !== undefined,
        asksClient: acp?.asks === true,
        ...(settingsToAsk && { settingsToAsk }),
        ...(mailHook && faceSocket !== undefined && { mailHook: mailHook({ tokenFile, faceSocket }) }),
        ...(wakeHook && faceSocket !== undefined && { wakeHook: wakeHook({ tokenFile, faceSocket }) }),
        approveWorkspaceServers,
        ...(systemSettings !== undefined && { systemSettings }),
      })
    : notInjected(argv);
  const ownsTokenFile = setup.tokenFile === undefined;
  const seatFiles = seatKey === undefined ? [] : [{ path: seatKeyFile, text: `${seatKey}\n` }];
  return {
    injection: { ...injection, files: [...injection.files, ...seatFiles] },
    ...(inject && acp?.server === 'session' && { sessionServer: face }),
    variables: { ...own, ...injection.env },
    tokenFile,
    ownsTokenFile,
  };
}

/** The options that change something for some agents only. cline says itself why it keeps none. */
const optionsOfSome = [
  { field: 'keepMcp', option: '--keep-mcp', agents: ['claude', 'cline'] },
  { field: 'approveWorkspaceServers', option: '--approve-workspace-servers', agents: ['cursor-agent'] },
] as const;

/** Refuses options that would change nothing. `program` is absent if its command line stays as it is. */
function refuseUseless(program: string | undefined, setup: AgentSetup): void {
  const client = clientOf(program ?? '');
  for (const { field, option, agents } of optionsOfSome) {
    if (!setup[field] || agents.some((one) => one === client)) continue;
    const where = program === undefined ? 'with --no-inject' : `for '${basename(program)}'`;
    throw new SignalboxError('usage', `${option} changes nothing ${where}: it is for ${agents[0]}`, {
      details: { hint: `leave ${option} out` },
    });
  }
}

/** Returns the file in a run directory that holds the messages of a turn. */
export function messageFileIn(runDirectory: string): string {
  return join(runDirectory, 'message.json');
}

/** Returns true if the agent ignores files below a directory that others may write to, even a sticky one, as Gemini CLI does. */
export function needsStrictDirectory({ injection }: AgentPlan): boolean {
  return injection.client === 'gemini';
}
