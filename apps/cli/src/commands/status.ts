import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';
import type { StatusFlags } from '../status/status.ts';

/** Defines `signalbox status`. */
export function statusCommand(): Command {
  const command = withConnectionOptions(
    new Command('status').description(
      'Show on one screen how the broker, the orchestrator and the MCP servers are doing. For the operator.',
    ),
  );
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    '\nExit codes: 0 all is fine, 1 something is degraded, which the last lines say, 69 the broker is unreachable.',
  );
  withExamples(withJsonOption(command), 'signalbox status', 'signalbox status --json');
  return command.action(async (flags: StatusFlags) => {
    const { printStatus } = await import('../status/status.ts');
    process.exitCode = await printStatus(flags);
  });
}
