import { resolve } from 'node:path';
import type { Config } from '@signalbox/daemon/config';
import { configWarnings, openListeners, searchedText } from '@signalbox/daemon/config/internal';
import { missingCommands } from '../../config/missing-commands.ts';
import { reloadWarnings } from '../../config/reload-warnings.ts';
import { count, linesOf } from '../../terminal/output.ts';
import { failureFinding } from '../failure-finding.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';
import type { ReadSetup } from '../setup.ts';

const mend = 'mend the file: signalbox config check shows all of it';

/** Judges the configuration: that it can be read, and what `config check` warns of. */
export async function configurationFindings(
  { found, config, problem }: ReadSetup,
  { env, insecure }: { env: NodeJS.ProcessEnv; insecure?: boolean | undefined },
): Promise<Finding[]> {
  if (problem !== undefined) return configProblems(problem);
  if (!found) return [ok(`none: ${searchedText(env)}; signalbox init writes one`)];
  if (Object.keys(config.serverRepeat).length > 0) {
    // It loads the MCP host, which takes its time.
    const { checkPolicy } = await import('@signalbox/daemon/orchestrator');
    try {
      checkPolicy(config);
    } catch (error) {
      return [failureFinding(error, mend)];
    }
  }
  const warnings = [
    ...config.warnings,
    ...openListeners(config, { insecure }),
    ...missingCommands(config, env),
    ...configWarnings(config, found.file),
    ...reloadWarnings(config),
  ];
  if (warnings.length > 0) return warnings.map((text) => warning(text, mend));
  const servers = count(Object.keys(config.mcpServers).length, 'MCP server');
  return [ok(`${found.file}: ${servers}, ${count(Object.keys(config.roles).length, 'role')}`)];
}

/** The message of a wrong configuration has a line for each problem. */
function configProblems(problem: unknown): Finding[] {
  const { text, fix = mend } = failureFinding(problem, mend);
  return linesOf(text).map((line) => failed(line, fix));
}

/** Judges the files of other clients that the configuration imports, or could import. */
export function importFindings(
  { found, config, problem }: ReadSetup,
  clientFiles: readonly { path: string }[],
): Finding[] {
  if (problem !== undefined) return [];
  const imported = importedServers(config);
  const files = new Set(imported.values());
  const { leftOut, leftOutFiles } = config;
  const findings = [
    ...(leftOutFiles.length > 0
      ? [
          warning(
            `${count(leftOutFiles.length, 'file')} of other clients can't be used: ${leftOutFiles.join(', ')}`,
            'signalbox config check says why; the servers appear when their client has mended its file, or take it out of mcpConfig',
          ),
        ]
      : []),
  ];
  if (findings.length > 0) return findings;
  if (imported.size > 0)
    return [
      ok(
        `${count(imported.size, 'MCP server')} imported from ${[...files].join(', ')}${leftOut.length > 0 ? `; left out: ${leftOut.join(', ')}` : ''}`,
      ),
    ];
  if (found || clientFiles.length === 0) return [ok('nothing is imported from the file of another client')];
  const paths = clientFiles.map(({ path }) => path).join(', ');
  return [ok(`MCP servers of other clients are in ${paths}; signalbox init imports them`)];
}

function importedServers({ origins, file }: Config): Map<string, string> {
  return new Map(
    Object.entries(origins).flatMap(([name, origin]) =>
      file === undefined || resolve(origin.file) === file ? [] : [[name, origin.file] as const],
    ),
  );
}
