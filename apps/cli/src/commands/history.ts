import { Command } from 'commander';
import {
  agentOrGroupOption,
  countOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';
import type { HistoryFlags } from '../history/history-flags.ts';

/** Defines `signalbox history`. */
export function historyCommand(): Command {
  const command = withConnectionOptions(
    new Command('history').description(
      'Show messages and tool calls as one timeline: each request with its call and its answer. For the operator.',
    ),
    { agent: false },
  )
    .addOption(timeOption('--since <time>', 'how far back, as in 1h; default 1h, with --audit 1d'))
    .option(
      '--agent <name>',
      'only what this agent sent, got or called, or what a group got',
      agentOrGroupOption,
    )
    .option('--correlation <id>', 'only the request with this id, and what belongs to it')
    .option('--limit <n>', 'show at most this many messages, or rows of the audit', countOption, 200)
    .option(
      '--audit [kinds]',
      'instead the audit log: changes, refusals and losses, or other kinds: change, refusal, call, read, connect, loss, all',
    )
    .option(
      '--verify',
      'with --audit: check the whole log, and name the first row that was changed; exit code 1',
    )
    .option('--export', 'with --audit: print every entry with its hash as a line of JSON');
  withOrchestratorOption(command).addHelpText(
    'after',
    '\nWithout an orchestrator the command shows the messages only, and says on standard error that the calls are missing.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox history --since 1h',
    'signalbox history --agent writer-1 --since 10m --json',
    'signalbox history --audit --since 1d',
    'signalbox history --audit call,refusal --since 1h',
    'signalbox history --audit --verify',
    'signalbox history --audit --export --since 1d > audit.jsonl',
  );
  return command.action(async ({ agent, ...flags }: HistoryFlags) => {
    const asked = { ...flags, ...(agent !== undefined && { about: agent }) };
    if (flags.audit || flags.verify || flags.export) {
      const { printAudit } = await import('../history/print-audit.ts');
      return printAudit(asked);
    }
    const { printTimeline } = await import('../history/print-timeline.ts');
    await printTimeline(asked);
  });
}
