import { type AcpAgent, checkAcpAgent, findProgram, inheritedEnvironment } from '@signalbox/worker/internal';
import { ownVersion } from '../../process/version.ts';
import { exitCodes } from '../../terminal/exit-codes.ts';
import { printJson, printLines } from '../../terminal/output.ts';

/** Starts an agent that speaks ACP, and prints what `worker serve` has to know of it. Nothing connects to a broker. */
export async function checkAgent(
  argv: readonly string[],
  agent: AcpAgent,
  { cwd, json }: { cwd: string; json: boolean },
): Promise<number> {
  const program = findProgram(argv[0] ?? '', cwd, process.env.PATH);
  const env = inheritedEnvironment(process.env);
  const report = await checkAcpAgent({ program, argv, cwd, env, version: ownVersion() });
  const { info, canResume, canLoad, canList, modes, currentMode, startsServer, problem } = report;
  if (json) printJson({ agent: agent.name, mode: agent.mode ?? null, ...report });
  else {
    const sessions = canResume ? 'resumed' : canLoad ? 'loaded' : 'not continued';
    printLines(
      `agent       ${info ?? 'it does not say'}; speaks ACP 1`,
      `a thread    is ${agent.forgets === undefined ? sessions : `not continued: ${agent.forgets}`}${canList ? '; sessions are listed' : ''}`,
      `modes       ${modes ? modes.map((mode) => (mode === currentMode ? `${mode} (at the start)` : mode)).join(', ') : 'none'}`,
      `mode set    ${agent.mode ?? 'none: --mode ID sets one in which it asks'}`,
      `MCP server  ${startsServer ? 'is started when a session names it' : 'is not started when a session names it'}`,
      ...(problem === undefined ? [] : [`session     can't begin: ${problem}`]),
    );
  }
  return problem === undefined ? exitCodes.ok : exitCodes.failed;
}
