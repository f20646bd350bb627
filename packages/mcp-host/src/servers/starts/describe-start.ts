import type { McpServerConfig } from '../../config/server-config.ts';
import { inheritedVariables } from '../../environment/inherited-variables.ts';
import { serverEnvironment } from '../../environment/server-environment.ts';
import { commandText } from './command-text.ts';
import { startAdvice } from './start-advice.ts';
import type { StartFailure, StartTrace } from './start-failure.ts';

/**
 * Describes a failed start for the operator of the server. `redact` removes the server's secrets from a text. For a server behind HTTP,
 * only the address of the request is known.
 */
export function describeStart(
  config: McpServerConfig,
  trace: StartTrace | undefined,
  redact: (text: string) => string,
): StartFailure | undefined {
  if (config.type === 'remote') return undefined;
  if (config.type === 'http') return { origin: new URL(config.url).origin, processes: [], advice: [] };
  if (!trace) return undefined;
  const { obstacle, processes, stderrTail } = trace;
  const { command, args = [], cwd, inheritEnv } = config;
  const advice = startAdvice({
    ...{ obstacle, command, args, cwd, stderrTail },
    environment: serverEnvironment(config),
    withheld: inheritedVariables(inheritEnv).withheld,
    processes: processes.map(({ words }) => words),
  });
  return {
    command: commandText([command, ...args], redact),
    processes: processes.map(({ pid, words }) => ({ pid, command: commandText(words, redact) })),
    advice: advice.map(redact),
  };
}
