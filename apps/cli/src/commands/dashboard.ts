import { Command } from 'commander';
import { withConnectionOptions, withExamples, withJsonOption } from '../command-options.ts';
import type { DashboardFlags } from '../dashboard/print-link.ts';

/** Defines `signalbox dashboard`. */
export function dashboardCommand(): Command {
  const command = withConnectionOptions(
    new Command('dashboard').description(
      'Print a link that opens the dashboard in a browser, once and within a minute. For operators, observers, and tokens that decide (token issue --approves).',
    ),
  );
  command.option('--open', 'open it in the browser of this machine, too');
  withExamples(
    withJsonOption(command),
    'signalbox dashboard',
    'signalbox dashboard --open',
    'signalbox dashboard --token-file alice.token',
  );
  return command.action(async (flags: DashboardFlags) => {
    const { printLink } = await import('../dashboard/print-link.ts');
    await printLink(flags);
  });
}
