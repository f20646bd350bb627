import { Command } from 'commander';
import { configOption, withExamples, withJsonOption } from '../command-options.ts';
import type { CopyFlags } from '../store/copy.ts';
import type { RestoredFlags } from '../store/restored.ts';

/** Defines `signalbox store copy|restored`. */
export function storeCommand(): Command {
  return new Command('store')
    .description('Copy the data of a broker from files to a database, or tell that a database was restored.')
    .addCommand(copyCommand())
    .addCommand(restoredCommand());
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

function restoredCommand(): Command {
  const command = new Command('restored')
    .description('Tell Signalbox that its database was restored to an earlier moment.')
    .addOption(configOption())
    .addHelpText(
      'after',
      `
Brokers and orchestrators find this by themselves if their data directories were in use before. Run it for a database that none of these
directories has seen, and for a copy of a whole machine, before you start them. It needs broker.store of the configuration.
Waiting calls that are not safe to repeat then end as outcome_unknown, because they may have run. Nothing is deleted.`,
    );
  withExamples(withJsonOption(command), 'signalbox store restored --config signalbox.yaml');
  return command.action(async (flags: RestoredFlags) => {
    const { restored } = await import('../store/restored.ts');
    await restored(flags);
  });
}
