import { Command } from 'commander';
import type { AuditFlags } from '../audit/audit.ts';
import {
  countOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
} from '../command-options.ts';

/** Defines `signalbox audit`. */
export function auditCommand(): Command {
  const command = withConnectionOptions(
    new Command('audit')
      .description('Show the audit log: changes, refusals and losses, or other kinds. For the operator.')
      .argument(
        '[kinds]',
        'the kinds, with commas: change, refusal, call, read, connect, loss, or all; with --export all unless given',
      ),
    { agent: false },
  )
    .addOption(
      timeOption('--since <time>', 'how far back, as in 1h; default 1d, with --export the beginning'),
    )
    .option('--limit <n>', 'show at most this many rows, the newest', countOption, 200)
    .option('--verify', 'check the whole log, and name the first row that was changed; exit code 1')
    .option('--export', 'print every entry with its hash as a line of JSON');
  withExamples(
    withJsonOption(command),
    'signalbox audit --since 7d',
    'signalbox audit call,refusal --since 1h',
    'signalbox audit --verify',
    'signalbox audit --export --since 1d > audit.jsonl',
  );
  return command.action(async (kinds: string | undefined, flags: AuditFlags) => {
    const { printAudit } = await import('../audit/audit.ts');
    await printAudit(kinds, flags);
  });
}
