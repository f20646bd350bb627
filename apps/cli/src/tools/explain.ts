import { type Explanation, roleSchema, SignalboxError } from '@signalbox/protocol';
import { askOrchestrator, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { textArgument } from '../messages/text-argument.ts';
import { printJson, printLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { toolArguments } from './tool-arguments.ts';
import { checkToolName } from './tool-name.ts';

/** Prints what would become of a role's call of a tool, and why. */
export async function explainTool(
  role: string,
  tool: string,
  text: string | undefined,
  flags: ToolsFlags,
): Promise<void> {
  checkRole(role);
  checkToolName(tool);
  const given = text === undefined ? {} : { arguments: toolArguments(await textArgument(text)) };
  const explanation = await askOrchestrator(flags, { op: 'explain', role, tool, ...given });
  if (flags.json) printJson(explanation);
  else printLines(...explanationLines(explanation));
}

/** Throws `usage` if a text cannot be a role. */
export function checkRole(role: string): void {
  const parsed = roleSchema.safeParse(role);
  if (parsed.success) return;
  throw new SignalboxError('usage', `'${role}' is not a role: ${parsed.error.issues[0]?.message}`, {
    details: { hint: 'the role comes first, as in: signalbox tools explain ROLE TOOL' },
  });
}

function explanationLines(explanation: Explanation): string[] {
  const { role, tool, allowed, exists, hidden, rule, nearest } = explanation;
  const verdict = allowed ? `may call ${tool}` : `may not call ${tool}`;
  const lack = nearest === undefined ? 'no tool has that name' : `no tool has that name; nearest: ${nearest}`;
  const facts: [string, string | undefined][] = [
    ['rule', rule],
    ['held', explanation.held],
    ['asks', askText(explanation)],
    ['hiding', hidingText(explanation)],
    ['tool', exists ? (hidden ? 'callable by this name, but in no list' : undefined) : lack],
    ['server', serverText(explanation)],
    ['repeat', repeatText(explanation)],
    ['hints', withheldText(explanation)],
    ['pin', pinText(explanation)],
    ['changed', changedText(explanation)],
  ];
  return [
    `role ${role} ${verdict}${allowed && !exists ? ', if there were such a tool' : ''}`,
    ...facts.filter(([, value]) => value !== undefined).map(([name, value]) => `  ${name.padEnd(9)}${value}`),
  ];
}

function askText({ allowed, exists, ask, ask_rule, ask_problem }: Explanation): string | undefined {
  if (!allowed || !exists || ask === 'no') return undefined;
  if (ask_problem !== undefined) return `this call is refused: ${ask_problem} (${ask_rule})`;
  const what = {
    yes: 'a call waits until a person approves it',
    by_arguments: 'it depends on the arguments, which may follow the tool, whether a call waits for a person',
    denied: 'this call is denied, because a value of it would be hidden from those who decide',
  }[ask];
  return `${what} (${ask_rule})`;
}

function hidingText({ allowed, exists, hidden_rule }: Explanation): string | undefined {
  if (!allowed || !exists || hidden_rule === undefined) return undefined;
  return `a call is denied if a value of it would be hidden from those who decide (${hidden_rule})`;
}

function serverText({ server, state, circuit, running, waiting }: Explanation): string | undefined {
  if (server === undefined) return undefined;
  return [
    `${server}${state === undefined ? '' : ` (${state})`}`,
    ...(circuit === undefined ? [] : [`circuit ${circuit}`]),
    ...(running === undefined ? [] : [`${running} running`]),
    ...(waiting === undefined ? [] : [`${waiting} waiting`]),
  ].join(', ');
}

function repeatText({ exists, repeat, repeat_rule }: Explanation): string | undefined {
  if (!exists) return undefined;
  const word =
    repeat === 'safe' ? 'a call that was sent may be made again' : 'a call that was sent is never made again';
  return repeat_rule === undefined ? word : `${word} (${repeat_rule})`;
}

function withheldText({ server, withheld }: Explanation): string | undefined {
  if (withheld === undefined) return undefined;
  const names = withheld.join(' and ');
  return `its server now grants more (${names}) than at its start; this counts after: signalbox tools reload ${server}`;
}

function pinText({ server, definition }: Explanation): string | undefined {
  if (definition === undefined) return undefined;
  if (definition === 'pinned') return 'its definition is as pinned';
  const why = definition === 'new' ? 'it is new' : 'its definition has changed';
  return `withheld: ${why}, and not accepted yet; see signalbox tools diff ${shellWords(server ?? '')}`;
}

function changedText({ exists, changed_at }: Explanation): string | undefined {
  if (!exists) return undefined;
  return changed_at === undefined
    ? 'not since the orchestrator started'
    : `its definition changed at ${new Date(changed_at).toISOString()}`;
}
