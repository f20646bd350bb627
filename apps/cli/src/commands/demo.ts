import { Command, Option } from 'commander';
import { withExamples, withJsonOption } from '../command-options.ts';
import { demoPoints } from '../demo/demo-points.ts';
import type { DemoFlags } from '../demo/run-demo.ts';

/** Defines `signalbox demo`. */
export function demoCommand(): Command {
  const command = new Command('demo')
    .description(
      'Run everything for real on free ports, prove six points, and leave nothing behind (less than a minute).',
    )
    .addOption(
      new Option('--break <point>', 'sabotage one point; the demo must then fail').choices(demoPoints),
    );
  command.option(
    '--postgres [url]',
    'run two brokers on PostgreSQL and kill one of them: on a server that is started for it, or on yours, in a schema that it drops again',
  );
  withExamples(withJsonOption(command), 'signalbox demo', 'signalbox demo --postgres');
  return command.action(async (flags: DemoFlags) => {
    const { runDemo } = await import('../demo/run-demo.ts');
    await runDemo(flags);
  });
}
