import { Command } from 'commander';
import { withExamples, withJsonOption } from '../command-options.ts';
import type { CopyFlags } from '../store/copy.ts';

/** Defines `signalbox store copy`. */
export function storeCommand(): Command {
  return new Command('store')
    .description('Copy the data of a broker from files to a database.')
    .addCommand(copyCommand());
}

function copyCommand(): Command {
  const command = new Command('copy')
    .description(
      'Copy messages, tokens and the audit log of a stopped broker to PostgreSQL, and compare both.',
    )
    .requiredOption('--from <sqlite:dir>', 'the data directory of the broker, as in sqlite:./state')
    .requiredOption('--to <postgres:url>', 'the database, as in postgres://user@host/database')
    .option('--schema <name>', 'the schema, in which no broker has run', 'signalbox')
    .addHelpText(
      'after',
      `
Run it where the data directory is, while no broker runs on it. The files are not changed. Everything is written in one transaction,
read back and compared before it is committed: a copy that is interrupted leaves nothing in the database, and can be made again.
Other users of the machine see the arguments of a command, so give a password in PGPASSWORD.
The journal of the orchestrator is not copied: waiting calls that are not safe to repeat end as outcome_unknown.`,
    );
  withExamples(
    withJsonOption(command),
    'signalbox store copy --from sqlite:./state --to postgres://signalbox@db.example.com/signalbox',
  );
  return command.action(async (flags: CopyFlags) => {
    const { copy } = await import('../store/copy.ts');
    await copy(flags);
  });
}
