import { Command } from 'commander';
import type { BackupFlags } from '../backup/backup.ts';
import type { RestoreFlags } from '../backup/restore.ts';
import type { VerifyFlags } from '../backup/verify.ts';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';

/** Defines `signalbox backup` with `signalbox backup verify`. */
export function backupCommand(): Command {
  const command = withOrchestratorOption(
    withConnectionOptions(
      new Command('backup')
        .enablePositionalOptions()
        .description('Copy all messages, tokens and started calls into a directory, while everything runs.')
        .argument('<directory>', "an absent or empty directory on the broker's machine"),
    ),
  ).addHelpText(
    'after',
    `
For the operator. The broker and the orchestrator write the directory themselves, readable by their user only.
The backup does not hold signalbox.yaml and the files that it names, sign-ins to MCP servers, and the texts of tokens.`,
  );
  withExamples(
    withJsonOption(command),
    'signalbox backup /backups/2026-11-22',
    'signalbox backup verify /backups/2026-11-22',
  );
  command.action(async (directory: string, flags: BackupFlags) => {
    const { makeBackup } = await import('../backup/backup.ts');
    await makeBackup(directory, flags);
  });
  command.addCommand(verifyCommand());
  return command;
}

function verifyCommand(): Command {
  const command = new Command('verify')
    .description('Read a whole backup and say whether it can be restored. Changes nothing.')
    .argument('<directory>', 'the directory of the backup');
  withExamples(withJsonOption(command), 'signalbox backup verify /backups/2026-11-22');
  return command.action(async (directory: string, flags: VerifyFlags) => {
    const { verify } = await import('../backup/verify.ts');
    await verify(directory, flags);
  });
}

/** Defines `signalbox restore`. */
export function restoreCommand(): Command {
  const command = new Command('restore')
    .description('Restore a backup into a new data directory. Nothing is overwritten.')
    .argument('<directory>', 'the directory of the backup')
    .requiredOption('--data <dir>', 'the new data directory: absent or empty')
    .option('--revoke-tokens', 'drop all tokens, those of operators included')
    .addHelpText(
      'after',
      `
The backup is verified first. Calls that wait in it and are not safe to repeat end as outcome_unknown and are not run, because they
may have run after the backup was made. Tokens that were revoked after the backup are valid again, unless --revoke-tokens is given.`,
    );
  withExamples(withJsonOption(command), 'signalbox restore /backups/2026-11-22 --data ./state');
  return command.action(async (directory: string, flags: RestoreFlags) => {
    const { restore } = await import('../backup/restore.ts');
    await restore(directory, flags);
  });
}
