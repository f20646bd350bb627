import { Command } from 'commander';
import { agentsCommand } from './commands/agents.ts';
import { askCommand } from './commands/ask.ts';
import { brokerCommand } from './commands/broker.ts';
import { configCommand } from './commands/config.ts';
import { deadCommand } from './commands/dead.ts';
import { demoCommand } from './commands/demo.ts';
import { historyCommand } from './commands/history.ts';
import { inboxCommand } from './commands/inbox.ts';
import { orchestratorCommand } from './commands/orchestrator.ts';
import { sendCommand } from './commands/send.ts';
import { tailCommand } from './commands/tail.ts';
import { tokenCommand } from './commands/token.ts';
import { toolsCommand } from './commands/tools.ts';
import { upCommand } from './commands/up.ts';
import { workerCommand } from './commands/worker.ts';
import { ownVersion } from './version.ts';

/** Every command, in the order of the help. Each defines only its words and loads its work when it runs. */
const commands: readonly (() => Command)[] = [
  upCommand,
  demoCommand,
  brokerCommand,
  orchestratorCommand,
  tokenCommand,
  toolsCommand,
  workerCommand,
  sendCommand,
  askCommand,
  inboxCommand,
  agentsCommand,
  tailCommand,
  historyCommand,
  deadCommand,
  configCommand,
];

/** The whole command line, not yet run. */
export function createProgram(): Command {
  const program = new Command('signalbox')
    .description('Messages that arrive and tools by role, for fleets of AI agents.')
    .version(ownVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .addHelpText('after', closing);
  for (const create of commands) program.addCommand(create());
  return program;
}

const closing = `
Example:
  $ signalbox up --config signalbox.yaml

Each command has its own help, as in: signalbox token issue --help
Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 69 broker unreachable, 75 try again later, 77 not permitted,
127 no such agent command, 130 interrupted, what was asked is withdrawn.
SIGNALBOX_LOG sets how much is logged on standard error: silent, error, warn, info, debug.`;
