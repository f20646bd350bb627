import { type Explanation, roleSchema, SignalboxError } from '@signalbox/protocol';
import { askOrchestrator, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { printJson, printLines } from '../terminal/output.ts';
import { checkToolName } from './tool-name.ts';

/** Prints what would become of a role's call of a tool, and why. */
export async function explainTool(role: string, tool: string, flags: ToolsFlags): Promise<void> {
  checkRole(role);
  checkToolName(tool);
  const explanation = await askOrchestrator(flags, { op: 'explain', role, tool });
  if (flags.json) printJson(explanation);
  else printLines(...explanationLines(explanation));
}

function checkRole(role: string): void {
  const parsed = roleSchema.safeParse(role);
  if (parsed.success) return;
  throw new SignalboxError('usage', `'${role}' is not a role: ${parsed.error.issues[0]?.message}`, {
    details: { hint: 'the role comes first, then the tool: signalbox tools explain ROLE TOOL' },
  });
}

function explanationLines(explanation: Explanation): string[] {
  const { role, tool, allowed, exists, hidden, rule, nearest } = explanation;
  const verdict = allowed ? `may call ${tool}` : `may not call ${tool}`;
  const lack = nearest === undefined ? 'no tool has that name' : `no tool has that name; nearest: ${nearest}`;
  const facts: [string, string | undefined][] = [
    ['rule', rule],
    ['tool', exists ? (hidden ? 'callable by this name, but in no list' : undefined) : lack],
    ['server', serverText(explanation)],
    ['repeat', repeatText(explanation)],
    ['hints', withheldText(explanation)],
    ['changed', changedText(explanation)],
  ];
  return [
    `role ${role} ${verdict}${allowed && !exists ? ', if there were such a tool' : ''}`,
    ...facts.filter(([, value]) => value !== undefined).map(([name, value]) => `  ${name.padEnd(9)}${value}`),
  ];
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

function changedText({ exists, changed_at }: Explanation): string | undefined {
  if (!exists) return undefined;
  return changed_at === undefined
    ? 'not since the orchestrator started'
    : `its definition changed at ${new Date(changed_at).toISOString()}`;
}
