import { Command } from 'commander';
import {
  agentOption,
  roleOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';
import type { HoldFlags, HoldsFlags, ReleaseFlags } from '../holds/holds.ts';

/** Defines `signalbox hold`. */
export function holdCommand(): Command {
  const command = withTargetOptions(
    new Command('hold').description(
      'Hold an agent, a role, tools or everything: nothing new reaches them, and no call starts, until the release.',
    ),
  )
    .option('--reason <text>', 'why, which it needs; everybody whom it stops is told')
    .option('--until <time>', 'it ends by itself: after 30m or 8h, or at an instant such as 2026-12-01T09:00')
    .option('--cancel-running', 'cancel the calls that run, too; otherwise they finish')
    .option('--force', 'also a name that nobody knows now')
    .addHelpText('after', legend);
  withOrchestratorOption(command);
  withExamples(
    withJsonOption(command),
    'signalbox hold --agent rosa --reason "it deletes files" --cancel-running',
    'signalbox hold --tool "db:*" --reason "the database moves" --until 2h',
  );
  return command.action(async (flags: HoldFlags) => {
    const { hold } = await import('../holds/holds.ts');
    await hold(flags);
  });
}

/** Defines `signalbox release`. */
export function releaseCommand(): Command {
  const command = withTargetOptions(
    new Command('release')
      .description('Release holds: waiting mail comes in order, and waiting calls start.')
      .argument('[ids...]', 'ids of holds, as holds shows them'),
  );
  withExamples(withJsonOption(command), 'signalbox release --agent rosa', 'signalbox release 7mXk2hQ9bT4nRe');
  return command.action(async (ids: string[], flags: ReleaseFlags) => {
    const { release } = await import('../holds/holds.ts');
    await release(ids, flags);
  });
}

/** Defines `signalbox holds`. */
export function holdsCommand(): Command {
  const command = withConnectionOptions(
    new Command('holds').description(
      'List who holds what, since when and why. For operators, observers, and tokens that decide.',
    ),
  );
  withExamples(withJsonOption(command), 'signalbox holds');
  return command.action(async (flags: HoldsFlags) => {
    const { printHolds } = await import('../holds/holds.ts');
    await printHolds(flags);
  });
}

function withTargetOptions(command: Command): Command {
  return withConnectionOptions(command, { agent: false })
    .option('--agent <agent>', 'this agent', agentOption)
    .option('--role <role>', 'all agents in this role', roleOption)
    .option('--tool <pattern>', 'these tools, as SERVER:TOOL, where * stands for any characters: db:*')
    .option('--all', 'everything: all agents and all tools');
}

const legend = `
A held agent sends nothing but answers to what it has. Its tool calls wait until the release, or end as held at their
deadlines, without having run. Holds outlive restarts. Operators, approvers and orchestrators are never held.`;
