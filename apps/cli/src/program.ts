import { Command } from 'commander';
import { shapeHelp } from './help.ts';
import { ownVersion } from './process/version.ts';
import { exitCodeTexts } from './terminal/exit-codes.ts';

/** Makes a command. It defines its options only, and loads its work when it runs. */
type Create = () => Promise<Command>;

/** The commands by name, in the groups and the order of the help. */
const groups: Readonly<Record<string, Readonly<Record<string, Create>>>> = {
  Begin: {
    init: async () => (await import('./commands/init.ts')).initCommand(),
    up: async () => (await import('./commands/up.ts')).upCommand(),
    down: async () => (await import('./commands/down.ts')).downCommand(),
    demo: async () => (await import('./commands/demo.ts')).demoCommand(),
    config: async () => (await import('./commands/config.ts')).configCommand(),
    service: async () => (await import('./commands/service.ts')).serviceCommand(),
    broker: async () => (await import('./commands/broker.ts')).brokerCommand(),
    orchestrator: async () => (await import('./commands/orchestrator.ts')).orchestratorCommand(),
    completion: async () => (await import('./commands/completion.ts')).completionCommand(createProgram),
  },
  Agents: {
    agents: async () => (await import('./commands/agents.ts')).agentsCommand(),
    token: async () => (await import('./commands/token.ts')).tokenCommand(),
    worker: async () => (await import('./commands/worker.ts')).workerCommand(),
    a2a: async () => (await import('./commands/a2a.ts')).a2aCommand(),
  },
  Messages: {
    send: async () => (await import('./commands/send.ts')).sendCommand(),
    ask: async () => (await import('./commands/ask.ts')).askCommand(),
    inbox: async () => (await import('./commands/inbox.ts')).inboxCommand(),
    dead: async () => (await import('./commands/dead.ts')).deadCommand(),
    thread: async () => (await import('./commands/thread.ts')).threadCommand(),
    schedules: async () => (await import('./commands/schedules.ts')).schedulesCommand(),
    hooks: async () => (await import('./commands/hooks.ts')).hooksCommand(),
  },
  Tools: {
    tools: async () => (await import('./commands/tools.ts')).toolsCommand(),
    servers: async () => (await import('./commands/servers.ts')).serversCommand(),
    resources: async () => (await import('./commands/mcp-content.ts')).resourcesCommand(),
    prompts: async () => (await import('./commands/mcp-content.ts')).promptsCommand(),
  },
  'You decide': {
    approvals: async () => (await import('./commands/approvals.ts')).approvalsCommand(),
    approve: async () => (await import('./commands/approvals.ts')).approveCommand(),
    deny: async () => (await import('./commands/approvals.ts')).denyCommand(),
    holds: async () => (await import('./commands/holds.ts')).holdsCommand(),
    hold: async () => (await import('./commands/holds.ts')).holdCommand(),
    release: async () => (await import('./commands/holds.ts')).releaseCommand(),
  },
  Look: {
    status: async () => (await import('./commands/status.ts')).statusCommand(),
    top: async () => (await import('./commands/top.ts')).topCommand(),
    doctor: async () => (await import('./commands/doctor.ts')).doctorCommand(),
    dashboard: async () => (await import('./commands/dashboard.ts')).dashboardCommand(),
    tail: async () => (await import('./commands/tail.ts')).tailCommand(),
    history: async () => (await import('./commands/history.ts')).historyCommand(),
    audit: async () => (await import('./commands/audit.ts')).auditCommand(),
  },
  Data: {
    backup: async () => (await import('./commands/backup.ts')).backupCommand(),
    restore: async () => (await import('./commands/backup.ts')).restoreCommand(),
    store: async () => (await import('./commands/store.ts')).storeCommand(),
    clock: async () => (await import('./commands/clock.ts')).clockCommand(),
  },
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
  const all = Object.entries(groups).flatMap(([heading, commands]) =>
    Object.entries(commands).map(([name, create]) => ({ name, heading, create })),
  );
  const named = all.filter(({ name }) => name === word);
  const built = (named.length > 0 ? named : all).map(async ({ heading, create }) =>
    (await create()).helpGroup(`${heading}:`),
  );
  for (const command of await Promise.all(built)) program.addCommand(command);
  return shapeHelp(program);
}

const closing = `
Examples:
  $ signalbox init
  $ signalbox up

Each command has its own help, as in: signalbox token issue --help
Exit codes:
${exitCodeTexts.map(([code, text]) => `  ${String(code).padEnd(5)}${text}`).join('\n')}

On a terminal, standard error tells after a second what a command waits for; not with --json, and scripts read nothing of it.
SIGNALBOX_LOG sets how much is logged on standard error: silent, error, warn, info, debug.`;
