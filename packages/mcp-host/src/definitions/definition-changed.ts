import { type ToolCallError, toolCallError } from '@signalbox/protocol';
import { visibleLine } from '@signalbox/protocol/internal';
import { quoted } from '../servers/unavailable.ts';
import type { ToolProblem } from '../tool-calls/index.ts';
import type { ChangedDefinitions, DefinitionChange } from './server-definitions.ts';

/** The most problems that are listed one by one; the others are counted. */
const maxReported = 10;

/** Returns the error for a call of a tool, or a request for a prompt, whose definition is withheld. */
export function definitionChangedError(
  what: 'tool' | 'prompt',
  name: string,
  server: string,
  change: DefinitionChange,
): ToolCallError {
  const why =
    change === 'new'
      ? `it is new on server '${server}', and nobody has accepted it yet`
      : `server '${server}' has changed its definition, and nobody has accepted the change yet`;
  return toolCallError('definition_changed', `${what} '${name}' is withheld: ${why}. It was not called.`, {
    mayHaveRun: false,
    hint: `Go on without it, or tell the person you work for: an operator sees the change with 'signalbox servers diff ${quoted(server)}', and accepts it or not.`,
  });
}

/** Returns the error for a call whose tool was defined anew after its arguments were checked, so that its server would get others. */
export function redefinedError(name: string): ToolCallError {
  const message = `the definition of '${name}' changed after the arguments of this call were checked, and they would be rewritten now`;
  return toolCallError('invalid_arguments', message, {
    mayHaveRun: false,
    hint: 'This call did not run. Look at the tool again; a new call is checked anew.',
  });
}

/** Describes the definitions of a server that are withheld, for its operator. */
export function changedProblems(
  server: string,
  what: 'tool' | 'prompt' | 'instructions',
  changed: ChangedDefinitions,
): ToolProblem[] {
  const all = [...changed];
  const look = `signalbox servers diff ${quoted(server)}`;
  const labels = { tool: '', prompt: 'prompt ', instructions: '' };
  const reported = all.slice(0, maxReported).map(([name, { what: change }]) => ({
    tool: `${labels[what]}${visibleLine(name)}`,
    message:
      change === 'new'
        ? `withheld: it is new, and not accepted yet; look at it with: ${look}`
        : `withheld: its definition has changed; see how with: ${look}`,
    isWithheld: true as const,
  }));
  const others = all.length - reported.length;
  if (others === 0) return reported;
  const message = `${others} more ${what}s are withheld; see them with: ${look}`;
  return [...reported, { message, isWithheld: true }];
}
