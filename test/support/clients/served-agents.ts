import { spawnSync } from 'node:child_process';
import { agentClis, type ClientSetup } from './agent-clis.ts';
import type { Step } from './model-server.ts';

/** An agent as `worker serve` starts it. */
export interface ServedAgent {
  /** The command line. */
  argv: string[];
  /** The packages with its programs, as NAME@VERSION, where they are not that of the CLI. */
  packages?: string[];
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
const piModels = (url: string): string =>
  JSON.stringify({
    providers: {
      local: {
        baseUrl: `${url}/v1`,
        api: 'openai-completions',
        apiKey: 'none-is-needed',
        models: [{ id: 'scripted' }],
      },
    },
  });
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
    packages: ['@agentclientprotocol/claude-agent-acp@0.101.0'],
    shell: described('Bash'),
  },
  codex: {
    argv: ['codex-acp'],
    packages: ['@agentclientprotocol/codex-acp@2.6.0'],
    model: (url: string) => ({ files: { '.codex/config.toml': codexConfig(url) } }),
    shell: execCommand,
  },
  gemini: { argv: ['gemini', '-m', 'gemini-2.5-flash', '--acp'], shell: runShell },
  opencode: { argv: ['opencode', 'acp'], shell: described('bash') },
  qwen: { argv: ['qwen', '--acp'], shell: runShell },
  copilot: { argv: ['copilot', '--acp'], shell: described('bash') },
  kilo: { argv: ['kilo', 'acp'], shell: described('bash') },
  pi: {
    argv: ['pi-acp'],
    packages: ['pi-acp@0.0.34', '@earendil-works/pi-coding-agent@1.6.0'],
    model: (url: string) => ({ files: { '.pi/agent/models.json': piModels(url) } }),
    shell: described('bash'),
  },
  'codex exec': {
    argv: ['codex', 'exec', '--skip-git-repo-check'],
    model: (url: string) => ({ files: { '.codex/config.toml': codexConfig(url) } }),
    shell: execCommand,
  },
  'opencode run': { argv: ['opencode', 'run'], shell: described('bash') },
} as const satisfies Record<string, ServedAgent>;

export type ServedName = keyof typeof servedAgents;

/** Returns the path of the program of an agent; it is empty if it is not on the PATH. */
export function programOf(name: ServedName): string {
  const [program] = servedAgents[name].argv;
  return spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();
}

/** Returns the packages by which some CLIs speak ACP, where those of the CLIs do not; with all CLIs also those of agents that are none. */
export function acpPackages(clis: readonly { name: string }[]): string[] {
  const isAll = clis.length === agentClis.length;
  const isOne = (name: string, of: readonly { name: string }[]) => of.some((cli) => cli.name === name);
  return Object.entries<ServedAgent>(servedAgents).flatMap(([name, { packages = [] }]) =>
    isOne(name, clis) || (isAll && !isOne(name, agentClis)) ? packages : [],
  );
}
