import { queryOrchestrator } from '@signalbox/client/operator';
import type { McpContentExplanation } from '@signalbox/protocol';
import { withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { printJson, printLines, printNotes } from '../terminal/output.ts';
import { checkRole, roleMeant } from '../tools/explain.ts';

/** Prints whether a role may use a prompt or a resource, and which rule decides. */
export async function explainMcpContent(
  kind: 'prompt' | 'resource',
  { role, name }: { role: string; name: string },
  flags: ToolsFlags,
): Promise<void> {
  checkRole(role);
  const explanation = await withClient(flags, async (connected) => {
    const meant = await roleMeant(connected, role, flags);
    const query = { op: 'explain_mcp_content' as const, role: meant, kind, name };
    using withdrawal = withdrawOnSignal();
    return await queryOrchestrator(connected.client, await orchestratorOf(connected, flags), query, {
      signal: withdrawal.signal,
    });
  });
  if (explanation.role !== role)
    printNotes(`'${role}' is an agent; this is about its role, ${explanation.role}`);
  if (flags.json) printJson(explanation);
  else printLines(...linesOfExplanation(explanation));
}

function linesOfExplanation(explanation: McpContentExplanation): string[] {
  const { role, kind, name, allowed, rule, server, problem, held, exists, withheld } = explanation;
  const verb = kind === 'prompt' ? 'get' : 'read';
  const facts: [string, string | undefined][] = [
    ['rule', rule],
    ['problem', problem],
    ['held', held],
    ['pin', withheld && 'withheld: its definition has changed; see signalbox servers diff'],
    ['server', server ?? (allowed && !exists ? `no server has such a ${kind}` : undefined)],
  ];
  return [
    `role ${role} may ${allowed ? '' : 'not '}${verb} ${name}`,
    ...facts.filter(([, value]) => value !== undefined).map(([fact, value]) => `  ${fact.padEnd(9)}${value}`),
  ];
}
