import { Command } from 'commander';
import {
  caFileOption,
  configOption,
  connectionHeading,
  dataOption,
  insecureUrlOption,
  timeOption,
  urlOption,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { WorkerFaceFlags } from '../../worker/face.ts';
import { mcpDefaults } from '../../worker/mcp-defaults.ts';

/** Defines `signalbox worker face`. */
export function faceCommand(): Command {
  const command = withOrchestratorOption(
    new Command('face')
      .description('Serve the "worker mcp" processes of many agents of this machine in one process.')
      .requiredOption('--socket <path>', 'the Unix socket to listen on, in a directory of your own')
      .addOption(urlOption())
      .addOption(insecureUrlOption())
      .addOption(caFileOption())
      .addOption(configOption().helpGroup(connectionHeading))
      .addOption(dataOption()),
  )
    .option('--alias <url...>', 'further addresses of the same broker, under which agents may know it')
    .option('--http <address>', 'serve agents over HTTP at HOST:PORT, too; each request brings its own token')
    .addOption(timeOption('--timeout <time>', 'longest time for one tool call', mcpDefaults.timeout));
  command.addHelpText(
    'after',
    '\n"signalbox up" runs one, and "worker run" has one of its own. Each "worker mcp" shows it the token of its agent;\nthe broker decides about it. SIGNALBOX_FACE tells "worker mcp" where the socket is.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox worker face --socket ~/.local/state/signalbox/face.sock',
    'signalbox worker face --socket /run/user/1000/face.sock --url wss://broker.example:7420',
  );
  return command.action(async (flags: WorkerFaceFlags) => {
    const { runWorkerFace } = await import('../../worker/face.ts');
    await runWorkerFace(flags);
  });
}
