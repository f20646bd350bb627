import { type MatrixReply, SignalboxError } from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import { askOrchestrator, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { count, printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';
import { notReadyLines } from './not-ready.ts';

/** The options of `signalbox tools matrix`. */
export interface MatrixFlags extends ToolsFlags {
  roles?: string[];
  server?: string;
}

/** Prints which role may call which tool. */
export async function printMatrix({ roles: named, server, ...flags }: MatrixFlags): Promise<void> {
  const matrix = await askOrchestrator(flags, { op: 'matrix' });
  const roles = named ?? matrix.roles;
  for (const role of roles)
    if (!matrix.roles.includes(role))
      throw new SignalboxError(
        'usage',
        `the configuration lists no role '${role}'${suggestion(role, matrix.roles)}`,
      );
  const tools = matrix.tools.filter((tool) => server === undefined || tool.server === server);
  if (server !== undefined && tools.length === 0) {
    const servers = new Set(matrix.tools.flatMap((tool) => tool.server ?? []));
    throw new SignalboxError(
      'usage',
      `no tool of a server '${server}' is shown${suggestion(server, servers)}`,
    );
  }
  for (const line of notReadyLines(matrix.not_ready)) printNotes(line);
  for (const text of matrix.warnings ?? []) printNotes(`warning: ${text}`);
  if (flags.json) return printJson({ ...matrix, roles, tools: tools.map((tool) => narrowed(tool, roles)) });
  if (roles.length === 0)
    return printLines(
      `the configuration lists no roles: every role may ${matrix.unlisted ? 'use every tool' : 'use none'}`,
    );
  const rows = tools.map((tool) => [
    tool.server === undefined ? tool.tool : `${tool.server}:${tool.own}`,
    ...roles.map((role) => mark(tool, role)),
  ]);
  printLines(
    tableLines(['TOOL', ...roles], rows),
    '',
    `${count(tools.length, 'tool')}; roles that are not listed may use ${matrix.unlisted ? 'all of them' : 'none'}. Why: signalbox tools explain ROLE TOOL`,
  );
}

type MatrixTool = MatrixReply['tools'][number];

function mark({ may, asks, may_ask }: MatrixTool, role: string): string {
  if (asks.includes(role)) return 'asks';
  if (may_ask.includes(role)) return 'may ask';
  return may.includes(role) ? 'yes' : '-';
}

function narrowed({ may, asks, may_ask, ...tool }: MatrixTool, roles: readonly string[]): MatrixTool {
  const kept = (list: readonly string[]): string[] => list.filter((role) => roles.includes(role));
  return { ...tool, may: kept(may), asks: kept(asks), may_ask: kept(may_ask) };
}
