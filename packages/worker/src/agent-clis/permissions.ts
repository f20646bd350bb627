import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { asObject, parseCommentedJson } from './commented-json.ts';
import { clientOf } from './injection-table.ts';
import { optionValues } from './option-values.ts';

/** The modes in which claude asks about what its settings neither allow nor deny. All others, also those of later versions, count as silent. */
export const askingModes: readonly string[] = ['default', 'acceptEdits', 'plan'];

/**
 * Refuses a command line whose agent can't ask a person through our MCP server before it uses tools of its own. `cwd` is the agent's working
 * directory. Throws `SignalboxError` `usage`, which says what to do instead.
 */
export function refuseUnasking([program = '', ...words]: readonly string[], cwd: string): void {
  const given = (...options: string[]): string | undefined =>
    options.find((option) => optionValues(words, option).length > 0);
  if (clientOf(program) !== 'claude')
    throw refusal(
      `'${basename(program)}' has no way to ask through an MCP server; claude -p has one`,
      'leave --permissions out, and give the program options of its own for what it may do',
    );
  if (given('-p', '--print') === undefined)
    throw refusal(
      'claude asks the user at its terminal; only claude -p asks an MCP server',
      'leave --permissions out, or write: -- claude -p …',
    );
  const own = given('--permission-prompt-tool');
  if (own !== undefined) throw refusal(`${own} of claude names another tool to ask`, 'leave one of them out');
  if (given('--dangerously-skip-permissions') !== undefined)
    throw refusal('with --dangerously-skip-permissions claude asks nobody', 'leave one of them out');
  const modes = optionValues(words, '--permission-mode');
  const silent = modes.find((mode) => !askingModes.includes(mode));
  if (silent !== undefined) throw refusal(`with --permission-mode ${silent} claude asks nobody`, whatAsks);
  // A mode on the command line takes precedence over one of the settings.
  const inSettings = modes.length > 0 ? undefined : silentSettings(words, cwd);
  if (inSettings !== undefined)
    throw refusal(
      `--settings of claude has permissions.defaultMode '${inSettings}', with which claude asks nobody`,
      whatAsks,
    );
}

const whatAsks = `it asks with ${askingModes.join(', ')}; without a mode of yours it gets ${askingModes[0]}`;

/** Returns the mode of the settings that the command line names, if claude asks nobody in it. Settings that can't be read are claude's concern. */
function silentSettings(words: readonly string[], cwd: string): string | undefined {
  for (const named of optionValues(words, '--settings')) {
    const mode = asObject(settingsOf(named, cwd)?.permissions)?.defaultMode;
    if (typeof mode === 'string' && !askingModes.includes(mode)) return mode;
  }
  return undefined;
}

function settingsOf(named: string, cwd: string): Record<string, unknown> | undefined {
  try {
    const text = named.trimStart().startsWith('{') ? named : readFileSync(resolve(cwd, named), 'utf8');
    return asObject(parseCommentedJson(text));
  } catch {
    return undefined;
  }
}

function refusal(message: string, hint: string): SignalboxError {
  return new SignalboxError('usage', `--permissions ask: ${message}`, { details: { hint } });
}
