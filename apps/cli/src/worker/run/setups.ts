import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isJwt, SignalboxError } from '@signalbox/protocol';
import {
  type AgentSetup,
  hintOfAcp,
  inheritedEnvironment,
  type MailHookCommand,
  planAgent,
  type SystemSettings,
  settingsToAsk,
} from '@signalbox/worker/internal';
import { ownCommand } from '../../process/own-command.ts';
import { shellWords } from '../../terminal/shell-words.ts';
import { refuseInTurn } from '../refuse-in-turn.ts';
import { agentNames } from './agent-names.ts';
import type { SetupFlags } from './flags.ts';
import type { RunIdentity } from './identity.ts';

/** Decides what each agent is started with. Throws `usage` for agents that cannot be run as the options say. */
export function runSetups(
  argv: readonly string[],
  cwd: string,
  identity: RunIdentity,
  flags: SetupFlags,
  acp?: AgentSetup['acp'],
): AgentSetup[] {
  const asked = acp || flags.permissions === 'cli' ? undefined : checkedPermissions(argv, cwd, flags);
  const names = checkedNames(flags, identity);
  for (const name of names) refuseInTurn(name, process.env);
  const setups = names.map((name) => ({
    ...setupOf(name, argv, cwd, identity, flags, asked !== undefined),
    ...(acp && { acp }),
    ...(asked && { settingsToAsk: asked }),
  }));
  for (const setup of setups) refuseShared(planAgent(setup, '/').injection.workspace?.path, names.length);
  return setups;
}

/** Refuses `--permissions ask` where nobody could be asked. Returns the settings that the command line names. */
function checkedPermissions(argv: readonly string[], cwd: string, { inject, permissions }: SetupFlags) {
  if (permissions !== 'ask')
    throw new SignalboxError(
      'usage',
      `--permissions ${permissions} is for agents that ask their client by the Agent Client Protocol`,
      { details: { hint: hintOfAcp(argv) ?? 'write a command of such an agent, or add --acp' } },
    );
  const settings = settingsToAsk(argv, cwd);
  if (inject) return settings;
  const message = '--permissions ask: the agent asks through our MCP server, and --no-inject leaves that out';
  throw new SignalboxError('usage', message, { details: { hint: 'leave one of them out' } });
}

function checkedNames(flags: SetupFlags, { kind, connection }: RunIdentity): string[] {
  const { agent, count, role, ttl } = flags;
  const made = role !== undefined ? '--role' : ttl !== undefined ? '--ttl' : undefined;
  if (kind === 'plain' && made !== undefined) {
    throw new SignalboxError(
      'usage',
      `${made} is for tokens that are made, and '${connection.agent}' has one`,
      {
        details: { hint: `leave ${made} out, or use a minting token or the operator's (--config, --data)` },
      },
    );
  }
  const names = agentNames({
    count,
    ...(agent !== undefined && { agent }),
    ...(connection.mintingPattern !== undefined && { pattern: connection.mintingPattern }),
    ...(kind === 'plain' && { own: connection.agent }),
  });
  if (kind === 'operator' && role === undefined && !flags.dryRun) {
    throw new SignalboxError('usage', `which role does ${names[0]} have?`, {
      details: { hint: 'name it with --role ROLE; signalbox.yaml lists the roles and their tools' },
    });
  }
  return names;
}

function setupOf(
  agent: string,
  argv: readonly string[],
  cwd: string,
  { kind, orchestrator, connection: { url, insecure, authorities, token, tokenFile } }: RunIdentity,
  flags: SetupFlags,
  asksByTool: boolean,
): AgentSetup {
  // A JWT lives shortly: who has it in a file renews it there.
  const renewed = kind === 'plain' && isJwt(token) ? tokenFile : undefined;
  const own = ownCommand();
  const more = [
    ...(insecure ? ['--insecure'] : []),
    ...(orchestrator === 'orchestrator' ? [] : ['--orchestrator', orchestrator]),
    ...(flags.tools === 'all' ? [] : ['--tools', flags.tools]),
    ...(asksByTool ? ['--permissions', 'ask'] : []),
  ];
  return {
    agent,
    url,
    insecure,
    ...(authorities && { authorities }),
    ...(renewed !== undefined && { tokenFile: resolve(renewed) }),
    faceCommand: { command: own.command, args: [...own.args, 'worker', 'mcp', ...more] },
    argv,
    cwd,
    env: { ...inheritedEnvironment(process.env), ...(flags.cwd !== undefined && { PWD: cwd }) },
    inject: flags.inject,
    keepMcp: flags.keepMcp === true,
    ...(flags.hooks && { mailHook: hookCommand('mail-hook', agent) }),
    ...(flags.wake && { wakeHook: hookCommand('wake-hook', agent) }),
    approveWorkspaceServers: flags.approveWorkspaceServers === true,
    systemSettings: systemSettings(process.env),
  };
}

/** Returns how a hook is started. All that it must know is on its command line, because CLIs may keep variables from hooks. */
function hookCommand(hook: 'mail-hook' | 'wake-hook', agent: string): MailHookCommand {
  const { command, args } = ownCommand();
  return ({ tokenFile, faceSocket }) => shellWords(command, ...args, hook, faceSocket, agent, tokenFile);
}

/** Returns the files of the machine's administrator that ours would replace, where they exist. */
function systemSettings({ QWEN_CODE_SYSTEM_SETTINGS_PATH: qwenSettings }: NodeJS.ProcessEnv): SystemSettings {
  const [gemini, qwen] =
    process.platform === 'darwin'
      ? ['/Library/Application Support/GeminiCli', '/Library/Application Support/QwenCode']
      : ['/etc/gemini-cli', '/etc/qwen-code'];
  const paths: SystemSettings = {
    gemini: join(gemini, 'settings.json'),
    // Qwen Code looks for its defaults beside its system settings, wherever these are.
    qwen: join(qwenSettings ? dirname(qwenSettings) : qwen, 'system-defaults.json'),
  };
  return Object.fromEntries(Object.entries(paths).filter(([, path]) => existsSync(path)));
}

function refuseShared(workspacePath: string | undefined, agents: number): void {
  if (workspacePath === undefined || agents === 1) return;
  throw new SignalboxError('usage', `--count: ${agents} agents can't share ${workspacePath}`, {
    details: { hint: 'run each in a directory of its own' },
  });
}
