import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { acpCommandOf } from '../serve/acp/acp-agents.ts';
import { asObject, parseCommentedJson } from './commented-json.ts';
import { clientOf } from './injection-table.ts';
import { optionValues } from './option-values.ts';

/** The modes in which claude asks about what its settings neither allow nor deny. All others, also those of later versions, count as silent. */
export const askingModes: readonly string[] = ['default', 'manual', 'acceptEdits', 'plan'];

/**
 * Refuses a command line whose agent can't ask a person through our MCP server before it uses tools of its own. `cwd` is the agent's working
 * directory. Returns the settings that the command line names. Throws `SignalboxError` `usage`, which says what to do instead.
 */
export function settingsToAsk(
  [program = '', ...words]: readonly string[],
  cwd: string,
): Record<string, unknown> {
  const given = (...options: string[]): string | undefined =>
    options.find((option) => optionValues(words, option).length > 0);
  if (clientOf(program) !== 'claude')
    throw refusal(
      `'${basename(program)}' has no way to ask through an MCP server; claude -p has one`,
      hintOfAcp([program]) ??
        'leave --permissions out, and give the program options of its own for what it may do',
    );
  if (given('-p', '--print') === undefined)
    throw refusal(
      'claude asks the user at its terminal; only claude -p asks an MCP server',
      'leave --permissions out, or write: -- claude -p …',
    );
  const own = given('--permission-prompt-tool');
  if (own !== undefined) throw refusal(`${own} of claude names another tool to ask`, 'leave one of them out');
  const elsewhere = given(...elsewhereOptions);
  if (elsewhere !== undefined)
    throw refusal(`with ${elsewhere} claude works where nobody hears it ask`, 'leave one of them out');
  const skipping = given('--dangerously-skip-permissions', '--allow-dangerously-skip-permissions');
  if (skipping !== undefined) throw refusal(`with ${skipping} claude asks nobody`, 'leave one of them out');
  for (const [option, asking] of Object.entries(askingValues)) {
    const silent = optionValues(words, option).find((value) => !asking.includes(value));
    if (silent !== undefined) throw refusal(`with ${option} ${silent} claude asks nobody`, whatAsks);
  }
  const settings = settingsNamed(words, cwd);
  const mode = asObject(settings.permissions)?.defaultMode;
  // A mode on the command line takes precedence over one of the settings.
  if (given('--permission-mode') === undefined && typeof mode === 'string' && !askingModes.includes(mode))
    throw refusal(
      `--settings of claude has permissions.defaultMode '${mode}', with which claude asks nobody`,
      whatAsks,
    );
  return settings;
}

/** Returns how a person is asked by a CLI that can do so only by ACP; `undefined` if it is not known to speak it. */
export function hintOfAcp([program = '']: readonly string[]): string | undefined {
  const command = acpCommandOf(program);
  if (command === undefined) return undefined;
  return `it asks a person as an agent that speaks ACP: signalbox worker serve --permissions ask … -- ${command}`;
}

/** The options that say whether claude asks, with the values with which it does. */
const askingValues: Readonly<Record<string, readonly string[]>> = {
  '--permission-mode': askingModes,
  '--inherit-permission-mode': askingModes,
  '--permission-prompts': ['host'],
};

/** The options with which claude goes on in another process or on another machine. */
const elsewhereOptions = ['--bg', '--background', '--cloud', '--remote', '--environment', '--teleport'];

const whatAsks = `it asks with ${askingModes.join(', ')}; without a mode of yours it gets ${askingModes[0]}`;

/** Returns the settings that the command line names. Of several the last count, as for claude. */
function settingsNamed(words: readonly string[], cwd: string): Record<string, unknown> {
  const named = optionValues(words, '--settings').at(-1);
  if (named === undefined) return {};
  const settings = settingsOf(named, cwd);
  if (settings) return settings;
  throw refusal(
    'the --settings of claude are no JSON object that can be read, so that nobody knows whether it asks',
    'correct them, or leave them out',
  );
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
