import { Command } from 'commander';
import { ownVersion } from './process/version.ts';

/** The commands by name, in the order of the help. Each defines its options only, and loads its work when it runs. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import('./commands/init.ts')).initCommand(),
  up: async () => (await import('./commands/up.ts')).upCommand(),
  demo: async () => (await import('./commands/demo.ts')).demoCommand(),
  broker: async () => (await import('./commands/broker.ts')).brokerCommand(),
  orchestrator: async () => (await import('./commands/orchestrator.ts')).orchestratorCommand(),
  token: async () => (await import('./commands/token.ts')).tokenCommand(),
  tools: async () => (await import('./commands/tools.ts')).toolsCommand(),
  resources: async () => (await import('./commands/offers.ts')).resourcesCommand(),
  prompts: async () => (await import('./commands/offers.ts')).promptsCommand(),
  approvals: async () => (await import('./commands/approvals.ts')).approvalsCommand(),
  approve: async () => (await import('./commands/approvals.ts')).approveCommand(),
  deny: async () => (await import('./commands/approvals.ts')).denyCommand(),
  hold: async () => (await import('./commands/holds.ts')).holdCommand(),
  release: async () => (await import('./commands/holds.ts')).releaseCommand(),
  holds: async () => (await import('./commands/holds.ts')).holdsCommand(),
  worker: async () => (await import('./commands/worker.ts')).workerCommand(),
  send: async () => (await import('./commands/send.ts')).sendCommand(),
  ask: async () => (await import('./commands/ask.ts')).askCommand(),
  inbox: async () => (await import('./commands/inbox.ts')).inboxCommand(),
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand(),
  status: async () => (await import('./commands/status.ts')).statusCommand(),
  dashboard: async () => (await import('./commands/dashboard.ts')).dashboardCommand(),
  agents: async () => (await import('./commands/agents.ts')).agentsCommand(),
  tail: async () => (await import('./commands/tail.ts')).tailCommand(),
  history: async () => (await import('./commands/history.ts')).historyCommand(),
  dead: async () => (await import('./commands/dead.ts')).deadCommand(),
  hooks: async () => (await import('./commands/hooks.ts')).hooksCommand(),
  schedules: async () => (await import('./commands/schedules.ts')).schedulesCommand(),
  clock: async () => (await import('./commands/clock.ts')).clockCommand(),
  backup: async () => (await import('./commands/backup.ts')).backupCommand(),
  restore: async () => (await import('./commands/backup.ts')).restoreCommand(),
  store: async () => (await import('./commands/store.ts')).storeCommand(),
  service: async () => (await import('./commands/service.ts')).serviceCommand(),
  completion: async () => (await import('./commands/completion.ts')).completionCommand(createProgram),
  config: async () => (await import('./commands/config.ts')).configCommand(),
};

/**
 * Builds the command line. If `word`, its first word, names a command, only that one is built: the others appear in none
 * of its texts.
 */
export async function createProgram(word?: string): Promise<Command> {
  const program = new Command('signalbox')
    // Without this, "worker run … claude --version", where -- is missing, would print our version.
    .enablePositionalOptions()
    .description('Messages that arrive and tools by role, for fleets of AI agents.')
    .version(ownVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .addHelpText('after', closing);
  const named = word !== undefined && Object.hasOwn(commands, word) ? commands[word] : undefined;
  const creators = named ? [named] : Object.values(commands);
  for (const command of await Promise.all(creators.map((create) => create()))) program.addCommand(command);
  return program;
}

const closing = `
Examples:
  $ signalbox init
  $ signalbox up

Each command has its own help, as in: signalbox token issue --help
Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 69 broker unreachable, 75 try again later, 77 not permitted,
127 no such agent command, 130 interrupted: the request was withdrawn.
SIGNALBOX_LOG sets how much is logged on standard error: silent, error, warn, info, debug.`;
