import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';
import type { DoctorFlags } from '../doctor/doctor.ts';

/** Defines `signalbox doctor`. */
export function doctorCommand(): Command {
  const command = withConnectionOptions(
    new Command('doctor').description(
      'Look for problems of this machine, the configuration, the data and the running processes. Changes nothing.',
    ),
  );
  withOrchestratorOption(command)
    .option('--no-servers', 'neither start MCP servers nor ask about them')
    .addHelpText('after', remarks);
  withExamples(withJsonOption(command), 'signalbox doctor', 'signalbox doctor --no-servers --json');
  return command.action(async (flags: DoctorFlags) => {
    const { doctor } = await import('../doctor/doctor.ts');
    process.exitCode = await doctor(flags);
  });
}

const remarks = `
It works whether anything runs or not. A broker that runs gets one message to an address of its own, which is read back. If no
orchestrator runs, each MCP server is started, asked for its tools and stopped. Every check has a time limit.
Exit codes: 0 nothing failed, 1 something failed, which the lines say with the fix.`;
