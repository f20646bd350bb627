import { Command } from 'commander';
import type { ApprovalsFlags } from '../approvals/approvals.ts';
import type { DecideFlags } from '../approvals/decide.ts';
import {
  countOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';
import type { ToolsFlags } from '../connection/orchestrator-request.ts';

/** Defines `signalbox approvals` with `show`, `standing` and `revoke`. */
export function approvalsCommand(): Command {
  const command = withConnectionOptions(
    new Command('approvals')
      .enablePositionalOptions()
      .description(
        'List the tool calls that wait for a person. For operators, observers, and tokens that decide (token issue --approves).',
      ),
  )
    .option('--all', 'also those that have ended')
    .option('--watch', 'go on, and print what begins to wait and what ends')
    .option('--limit <n>', 'show at most this many', countOption, 100);
  withOrchestratorOption(command);
  withExamples(withJsonOption(command), 'signalbox approvals', 'signalbox approvals --watch');
  command.action(async (flags: ApprovalsFlags) => {
    const { printApprovals } = await import('../approvals/approvals.ts');
    await printApprovals(flags);
  });
  return command.addCommand(showCommand()).addCommand(standingCommand()).addCommand(revokeCommand());
}

function showCommand(): Command {
  const command = orchestratorCommand(
    new Command('show')
      .description('Show one of them with all its arguments, also if it has ended.')
      .argument('<id>', idText),
  );
  withExamples(command, 'signalbox approvals show k7f3mz');
  return command.action(async (id: string, flags: ToolsFlags) => {
    const { showApproval } = await import('../approvals/approvals.ts');
    await showApproval(id, flags);
  });
}

function standingCommand(): Command {
  const command = orchestratorCommand(
    new Command('standing').description('List the standing approvals, which approve --for has given.'),
  );
  withExamples(command, 'signalbox approvals standing');
  return command.action(async (flags: ToolsFlags) => {
    const { printStanding } = await import('../approvals/approvals.ts');
    await printStanding(flags);
  });
}

function revokeCommand(): Command {
  const command = orchestratorCommand(
    new Command('revoke')
      .description('End a standing approval: later calls wait for a decision again.')
      .argument('<id>', 'its id, as approvals standing shows it'),
  );
  withExamples(command, 'signalbox approvals revoke p2x9dn');
  return command.action(async (id: string, flags: ToolsFlags) => {
    const { revokeStanding } = await import('../approvals/approvals.ts');
    await revokeStanding(id, flags);
  });
}

/** Defines `signalbox approve`. */
export function approveCommand(): Command {
  const command = orchestratorCommand(
    new Command('approve')
      .description('Approve a tool call that waits. It is made once, exactly as it was asked for.')
      .argument('<id>', idText),
  )
    .option('--reason <text>', 'why, for the record')
    .addOption(
      timeOption(
        '--for <time>',
        'let further calls of the same agent and tool pass for so long, at most 24h',
      ),
    );
  command.addHelpText('after', late);
  withExamples(command, 'signalbox approve k7f3mz', 'signalbox approve k7f3mz --for 30m');
  return command.action(async (id: string, flags: DecideFlags) => {
    const { decide } = await import('../approvals/decide.ts');
    await decide(id, 'approve', flags);
  });
}

/** Defines `signalbox deny`. */
export function denyCommand(): Command {
  const command = orchestratorCommand(
    new Command('deny')
      .description('Deny a tool call that waits. Its agent is told the reason.')
      .argument('<id>', idText),
  ).requiredOption('--reason <text>', 'why, for the agent');
  command.addHelpText('after', late);
  withExamples(command, 'signalbox deny k7f3mz --reason "not on a Friday"');
  return command.action(async (id: string, flags: DecideFlags) => {
    const { decide } = await import('../approvals/decide.ts');
    await decide(id, 'deny', flags);
  });
}

const idText = 'its id, as approvals shows it';

const late = `
The first decision counts. One that comes later, or after the deadline, changes nothing and ends with exit code 1.`;

function orchestratorCommand(command: Command): Command {
  return withJsonOption(withOrchestratorOption(withConnectionOptions(command)));
}
