import { basename } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { clientOf } from './injection-table.ts';

const modeOption = '--permission-mode';
/** The modes in which claude asks no permissions. */
const silentModes = ['bypassPermissions', 'dontAsk'];

/**
 * Refuses a command line whose agent can't ask a person through our MCP server before it uses tools of its own. Throws `SignalboxError`
 * `usage`, which says what to do instead.
 */
export function refuseUnasking([program = '', ...words]: readonly string[]): void {
  const given = (...options: string[]): string | undefined =>
    options.find((option) => words.some((word) => word === option || word.startsWith(`${option}=`)));
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
  const silent = given('--dangerously-skip-permissions') ?? silentMode(words);
  if (silent !== undefined) throw refusal(`with ${silent} claude asks nobody`, 'leave one of them out');
}

/** Returns the option by which claude would ask nobody; `undefined` if there is none. */
function silentMode(words: readonly string[]): string | undefined {
  const mode = words
    .map((word, at) => (word === modeOption ? `${word}=${words[at + 1]}` : word))
    .find((word) => silentModes.some((silent) => word === `${modeOption}=${silent}`));
  return mode?.replace('=', ' ');
}

function refusal(message: string, hint: string): SignalboxError {
  return new SignalboxError('usage', `--permissions ask: ${message}`, { details: { hint } });
}
