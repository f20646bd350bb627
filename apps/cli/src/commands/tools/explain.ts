import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsFlags } from '../../connection/orchestrator-request.ts';

/** Defines `signalbox tools explain`. */
export function toolsExplainCommand(): Command {
  const command = withConnectionOptions(
    new Command('explain')
      .description(
        'Say whether a role may call a tool, what each step would do with the call, and which rule decides. For the operator.',
      )
      .argument('<role>', 'the role, or an agent, whose role it is then')
      .argument('<tool>', 'the tool, as tools list shows it, or as SERVER:TOOL')
      .argument(
        '[arguments]',
        'arguments of a call as one JSON object, for rules about them; - reads them from standard input',
      ),
  );
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    '\nThe exit code is 0 for both answers; --json has the answer under "allowed".',
  );
  withExamples(
    withJsonOption(command),
    'signalbox tools explain researcher everything:echo',
    `signalbox tools explain builder files:write '{"path":"/srv/prod/app"}'`,
  );
  return command.action(async (role: string, tool: string, text: string | undefined, flags: ToolsFlags) => {
    const { explainTool } = await import('../../tools/explain.ts');
    await explainTool(role, tool, text, flags);
  });
}
