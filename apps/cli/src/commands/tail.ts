import { Command } from 'commander';
import {
  agentOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';
import type { TailFlags } from '../tail/tail.ts';

/** Defines `signalbox tail`. */
export function tailCommand(): Command {
  const command = withConnectionOptions(
    new Command('tail').description(
      'Follow messages, tool calls and holds live, until Ctrl-C: who sends what to whom, and how it ends. For the operator.',
    ),
    { agent: false },
  ).option('--agent <agent>', 'only what this agent sends, gets, calls or is refused', agentOption);
  command.option(
    '-v, --verbose',
    'every event: also the messages of a call, and when it is queued and starts',
  );
  command.option('--bodies', 'also the beginning of what messages say, if the broker keeps it');
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    '\nA tool call is one line, at its end, unless -v is given. Without --bodies no text is shown, and what has the form of a\ncredential never is. Events that come faster than they can be\nshown are left out and counted. With --json each line is one object, for every event. Past events: signalbox history.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox tail',
    'signalbox tail --bodies',
    'signalbox tail --agent researcher-1 --json',
  );
  return command.action(async ({ agent, ...flags }: TailFlags) => {
    const { tail } = await import('../tail/tail.ts');
    await tail({ ...flags, ...(agent !== undefined && { about: agent }) });
  });
}
