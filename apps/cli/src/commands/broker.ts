import { Command, Option } from 'commander';
import {
  acceptLossOption,
  configOption,
  insecureListenOption,
  ownDataOption,
  withExamples,
  withJsonOption,
} from '../command-options.ts';
import type { BrokerFlags } from '../daemons/broker.ts';

/** Defines `signalbox broker`. */
export function brokerCommand(): Command {
  const command = new Command('broker')
    .description('Run the broker: it keeps every message until its reader has acknowledged it.')
    .option(
      '--listen <address>',
      'HOST:PORT beside the Unix socket in the data directory; default 127.0.0.1:7420, port 0 takes any free one',
    )
    .addOption(ownDataOption())
    .addOption(
      new Option(
        '--durability <mode>',
        'full: on disk before the receipt; process: survives a crash of the broker, not a power cut',
      ).choices(['full', 'process']),
    )
    .addOption(configOption())
    .addOption(acceptLossOption())
    .addOption(insecureListenOption());
  withExamples(withJsonOption(command), 'signalbox broker --listen 127.0.0.1:7420 --data ./state');
  return command.action(async (flags: BrokerFlags) => {
    const { brokerProcess } = await import('../daemons/broker.ts');
    await brokerProcess(flags);
  });
}
