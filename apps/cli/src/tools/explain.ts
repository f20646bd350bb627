import { listTokens, queryOrchestrator } from '@signalbox/client/operator';
import { type ExplainedStep, type Explanation, roleSchema, SignalboxError } from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { type ConnectedClient, withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { textArgument } from '../messages/text-argument.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import { printJson, printLines, printNotes } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { listedRoles } from '../token/listed-roles.ts';
import { toolArguments } from './tool-arguments.ts';
import { checkToolName, withToolLabels } from './tool-name.ts';

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
  const explanation = await withClient(flags, async (connected) => {
    const { client } = connected;
    const meant = await roleMeant(connected, role, flags);
    using withdrawal = withdrawOnSignal();
    const query = { op: 'explain' as const, role: meant, tool, ...given };
    return await queryOrchestrator(client, await orchestratorOf(connected, flags), query, {
      signal: withdrawal.signal,
    });
  });
  if (!explanation.exists) process.exitCode = exitCodes.usage;
  if (explanation.role !== role)
    printNotes(`'${role}' is an agent; this is about its role, ${explanation.role}`);
  if (flags.json) printJson(explanation);
  else printLines(...explanationLines(explanation));
}

/**
 * Returns the role that a name means: itself, or if only an agent has this name, the role of that agent. Says on standard error and by
 * the exit code if nothing has it. Throws `usage` if the agent has several.
 */
export async function roleMeant(
  { client, connection }: Pick<ConnectedClient, 'client' | 'connection'>,
  name: string,
  flags: ConnectionFlags,
): Promise<string> {
  const { roles: listed } = (await listedRoles(flags, connection.url)) ?? { roles: {} };
  if (Object.hasOwn(listed, name)) return name;
  const tokens = await listTokens(client).catch((error) => {
    // The orchestrator refuses those who may not ask, and says why.
    if (error instanceof SignalboxError && error.code === 'forbidden') return [];
    throw error;
  });
  if (tokens.some(({ role }) => role === name)) return name;
  const roles = [...new Set(tokens.flatMap(({ agent, role }) => (agent === name ? [role] : [])))];
  if (roles.length === 0) {
    const names = new Set([...Object.keys(listed), ...tokens.flatMap(({ agent, role }) => [role, agent])]);
    process.exitCode = exitCodes.usage;
    if (tokens.length > 0) printNotes(`no role or agent is named '${name}'${suggestion(name, names)}`);
    return name;
  }
  if (roles.length === 1) return roles[0]!;
  throw new SignalboxError('usage', `'${name}' is an agent, and has several roles`, {
    details: { hint: `name one of them: ${roles.sort().join(', ')}` },
  });
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
  const { role, allowed, exists, hidden, nearest, steps } = explanation;
  const tool = toolLabel(explanation);
  const verdict = allowed ? `may call ${tool}` : `may not call ${tool}`;
  const lack =
    nearest === undefined
      ? 'no tool has that name'
      : `no tool has that name; nearest: ${toolLabel({ tool: nearest })}`;
  const facts: [string, string | undefined][] = [
    ['tool', exists ? (hidden ? 'callable by this name, but in no list' : undefined) : lack],
    ['server', serverText(explanation)],
    ['hints', withheldText(explanation)],
    ['pin', pinText(explanation)],
    ['changed', changedText(explanation)],
  ];
  const width = Math.max(...steps.map(({ step }) => step.length)) + 2;
  return [
    `role ${role} ${verdict}${allowed && !exists ? ', if there were such a tool' : ''}${allowed && exists ? outlook(steps) : ''}`,
    ...facts.filter(([, value]) => value !== undefined).map(([name, value]) => `  ${name.padEnd(9)}${value}`),
    'steps of a call:',
    ...steps.map((one) => `  ${one.step.padEnd(width)}${stepText(one)}`),
  ];
}

/** Says what keeps a call from running at once. */
function outlook(steps: readonly ExplainedStep[]): string {
  const refusing = steps.find(({ verdict }) => verdict === 'refused');
  if (refusing) return `; this call is refused (${refusing.step})`;
  const waiting = steps.filter(({ verdict }) => verdict === 'waits').map(({ step }) => step);
  return waiting.length === 0 ? '' : `; a call waits (${waiting.join(', ')})`;
}

function stepText({ verdict, says, rule }: ExplainedStep): string {
  const said = withToolLabels(verdict === 'passes' ? says : `${verdict}: ${says}`);
  return rule === undefined ? said : `${said} (${rule})`;
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

function withheldText({ server, withheld }: Explanation): string | undefined {
  if (withheld === undefined) return undefined;
  const names = withheld.join(' and ');
  return `its server now grants more (${names}) than at its start; this counts after: signalbox servers reload ${server}`;
}

function pinText({ server, definition }: Explanation): string | undefined {
  if (definition === undefined) return undefined;
  if (definition === 'pinned') return 'its definition is as pinned';
  const why = definition === 'new' ? 'it is new' : 'its definition has changed';
  return `withheld: ${why}, and not accepted yet; see signalbox servers diff ${shellWords(server ?? '')}`;
}

function changedText({ exists, changed_at }: Explanation): string | undefined {
  if (!exists) return undefined;
  return changed_at === undefined
    ? 'not since the orchestrator started'
    : `its definition changed at ${new Date(changed_at).toISOString()}`;
}
