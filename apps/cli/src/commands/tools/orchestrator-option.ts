import type { Command } from 'commander';

/** Adds the option that says which orchestrator is asked. */
export function orchestratorOption(command: Command): Command {
  return command.option(
    '--orchestrator <name>',
    'agent id of the orchestrator; default from the config, else orchestrator',
  );
}
