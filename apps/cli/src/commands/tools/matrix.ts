import { Command } from 'commander';
import {
  listOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { MatrixFlags } from '../../tools/matrix.ts';

/** Defines `signalbox tools matrix`. */
export function toolsMatrixCommand(): Command {
  const command = withConnectionOptions(
    new Command('matrix').description(
      'Show which role may call which tool, and for which calls a person is asked. For the operator.',
    ),
    { agent: false },
  )
    .option('--roles <list>', 'only these roles, as in reader,builder', listOption)
    .option('--server <name>', 'only tools of this server');
  withOrchestratorOption(command).addHelpText(
    'after',
    '\nyes: may call it; asks: each call waits for a person; may ask: its arguments decide that; -: may not.\nWhy: signalbox tools explain ROLE TOOL',
  );
  withExamples(
    withJsonOption(command),
    'signalbox tools matrix',
    'signalbox tools matrix --roles reader --server files',
  );
  return command.action(async (flags: MatrixFlags) => {
    const { printMatrix } = await import('../../tools/matrix.ts');
    await printMatrix(flags);
  });
}
