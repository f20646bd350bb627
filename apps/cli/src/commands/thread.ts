import { Command } from 'commander';
import {
  agentOrGroupOption,
  countOption,
  threadOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';
import type { ThreadFlags } from '../history/thread.ts';

/** Defines `signalbox thread`. */
export function threadCommand(): Command {
  const command = withConnectionOptions(
    new Command('thread')
      .description(
        'Read what agents said to each other: list threads, the newest first, or print one whole. For the operator.',
      )
      .argument('[id]', 'the thread to print: its name, or the id of its first message', threadOption),
    { agent: false },
  )
    .option('--agent <agent>', 'list only threads with this agent or group', agentOrGroupOption)
    .option('--search <words>', 'list only threads with a message that has words which begin with these')
    .option('--after <n>', 'print only messages after the one with this number', countOption)
    .option('--cursor <n>', 'go on with the list after the page that gave it', countOption)
    .option('--limit <n>', 'show at most this many; default 50 threads, 200 messages', countOption)
    .option('--forget', 'forget what is kept of the thread instead');
  withOrchestratorOption(command).addHelpText(
    'after',
    `
The broker keeps the bodies of settled messages if broker.keepBodies in signalbox.yaml says so, as in a file that init wrote,
for a day by default. Each use is in the audit log. What has the form of a credential is not shown.`,
  );
  withExamples(
    withJsonOption(command),
    'signalbox thread',
    'signalbox thread --agent bob --search "release notes"',
    'signalbox thread V1StGXR8Z5jdHi6BmyT',
    'signalbox thread V1StGXR8Z5jdHi6BmyT --forget',
  );
  return command.action(
    async (id: string | undefined, { agent, ...flags }: ThreadFlags & { agent?: string }) => {
      const { thread } = await import('../history/thread.ts');
      await thread(id, { ...flags, ...(agent !== undefined && { about: agent }) });
    },
  );
}
