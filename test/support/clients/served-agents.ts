import { spawnSync } from 'node:child_process';
import type { ClientSetup } from './agent-clis.ts';
import type { Step } from './model-server.ts';

/** An agent as `worker serve` starts it. */
export interface ServedAgent {
  /** The command line. */
  argv: string[];
  /** The package that has its program, if it is not that of the CLI. */
  package?: string;
  version?: string;
  /** Makes it ask a model at a local address, in addition to the setup of the CLI. */
  model?(url: string): ClientSetup;
  /** The tool by which it runs a command of a shell, and the arguments of that tool. */
  shell: (command: string) => Step[number];
}

const codexConfig = (url: string): string => `model = "gpt-5.5"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
`;
const described = (tool: string) => (command: string) => ({ tool, args: { command, description: 'tries' } });
const runShell = (command: string) => ({
  tool: 'run_shell_command',
  args: { command, description: 'tries', is_background: false },
});
const execCommand = (cmd: string) => ({ tool: 'exec_command', args: { cmd } });

/** The agents that speak ACP, and two that do not, by the names of their CLIs. */
export const servedAgents = {
  claude: {
    argv: ['claude-agent-acp'],
    package: '@agentclientprotocol/claude-agent-acp',
    version: '0.101.0',
    shell: described('Bash'),
  },
  codex: {
    argv: ['codex-acp'],
    package: '@agentclientprotocol/codex-acp',
    version: '2.6.0',
    model: (url: string) => ({ files: { '.codex/config.toml': codexConfig(url) } }),
    shell: execCommand,
  },
  gemini: { argv: ['gemini', '-m', 'gemini-2.5-flash', '--acp'], shell: runShell },
  opencode: { argv: ['opencode', 'acp'], shell: described('bash') },
  qwen: { argv: ['qwen', '--acp'], shell: runShell },
  copilot: { argv: ['copilot', '--acp'], shell: described('bash') },
  'codex exec': {
    argv: ['codex', 'exec', '--skip-git-repo-check'],
    model: (url: string) => ({ files: { '.codex/config.toml': codexConfig(url) } }),
    shell: execCommand,
  },
  'opencode run': { argv: ['opencode', 'run'], shell: described('bash') },
} as const satisfies Record<string, ServedAgent>;

export type ServedName = keyof typeof servedAgents;

/** Returns true if the program of an agent is on the PATH. */
export function isInstalled(name: ServedName): boolean {
  const [program] = servedAgents[name].argv;
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

/** Returns the packages, with versions, by which some CLIs speak ACP, where those of the CLIs do not. */
export function acpPackages(clis: readonly { name: string }[]): string[] {
  return Object.entries<ServedAgent>(servedAgents).flatMap(([name, { package: own, version }]) =>
    own !== undefined && clis.some((cli) => cli.name === name) ? [`${own}@${version}`] : [],
  );
}
