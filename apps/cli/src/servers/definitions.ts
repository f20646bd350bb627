import type { DefinitionDifference, DefinitionReport, DefinitionsReply } from '@signalbox/protocol';
import { quotedLines } from '@signalbox/protocol/internal';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { askOrchestrator, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import { count, printJson, printLines, tableLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';

/** The options of `signalbox servers accept`. */
export interface AcceptFlags extends ToolsFlags {
  seen: string;
}

/** Prints what is pinned of servers with `definitions: pin`, and what they list beside it. */
export async function printPins(server: string | undefined, flags: ToolsFlags): Promise<void> {
  const reply = await askOrchestrator(flags, { op: 'definitions', ...(server !== undefined && { server }) });
  if (flags.json) return printJson(reply);
  if (reply.servers.length === 0) return printLines(nonePinned);
  const rows = reply.definitions.map(({ server, kind, name, as = '-', state, pinned }) => [
    server,
    kind,
    name,
    toolLabel({ tool: as, server }),
    stateWords[state],
    pinned?.hash ?? '-',
    pinned === undefined ? '-' : new Date(pinned.at).toISOString(),
    pinned === undefined ? '-' : (pinned.by ?? 'first sight'),
  ]);
  const headings = ['SERVER', 'KIND', 'NAME', 'SHOWN AS', 'STATE', 'HASH', 'PINNED', 'BY'];
  printLines(
    tableLines(headings, rows, { optionalColumns: 3 }),
    '',
    ...reply.servers.map(summary),
    ...moreOf(reply),
  );
}

/** Prints how definitions that are withheld differ from what is pinned. Exit code 1 says that there are some. */
export async function printDiff(
  server: string | undefined,
  name: string | undefined,
  flags: ToolsFlags,
): Promise<void> {
  const reply = await askOrchestrator(flags, {
    op: 'definitions',
    withheld: true,
    ...(server !== undefined && { server }),
    ...(name !== undefined && { name }),
  });
  const { definitions, servers } = reply;
  if (definitions.length > 0) process.exitCode = exitCodes.failed;
  if (flags.json) return printJson(reply);
  if (servers.length === 0) return printLines(nonePinned);
  if (definitions.length === 0) return printLines('everything is shown as it is pinned');
  const own = servers.filter(({ withheld }) => withheld > 0);
  printLines([
    ...own.flatMap((one) => [
      ...definitions.filter((definition) => definition.server === one.server).flatMap(diffLines),
      ...acceptLines(one, name),
      '',
    ]),
    ...moreOf(reply),
  ]);
}

/** Accepts definitions that are withheld, if they are still those that `--seen` stands for. */
export async function acceptDefinitions(
  server: string,
  name: string | undefined,
  flags: AcceptFlags,
): Promise<void> {
  const { seen } = flags;
  const request = { op: 'accept_definitions' as const, server, seen, ...(name !== undefined && { name }) };
  const reply = await askOrchestrator(flags, request);
  if (flags.json) return printJson(reply);
  printLines(
    `accepted ${count(reply.accepted.length, 'definition')} of ${server}; shown and pinned from now on:`,
    ...reply.accepted.map(({ kind, name: one, hash }) => `  ${kind} ${one}  ${hash}`),
  );
}

const nonePinned = 'no server is pinned; write definitions: pin into its entry under mcpServers';

const stateWords: Readonly<Record<DefinitionReport['state'], string>> = {
  pinned: 'as pinned',
  changed: 'changed, withheld',
  new: 'new, withheld',
  gone: 'not shown now',
};

type PinnedServer = DefinitionsReply['servers'][number];

function summary({ server, pinned, withheld }: PinnedServer): string {
  const look = withheld === 0 ? '' : `: signalbox servers diff ${shellWords(server)}`;
  return `${server}: ${pinned} as pinned, ${withheld} withheld${look}`;
}

function moreOf({ more }: DefinitionsReply): string[] {
  return more === undefined ? [] : [`${more} more are not listed; name a server, or one of its tools`];
}

function diffLines(definition: DefinitionReport): string[] {
  const { server, kind, name, as, state, pinned, differences, more_differences: more } = definition;
  const label = as === undefined ? undefined : toolLabel({ tool: as, server });
  const shown = label === undefined || label === `${server}:${name}` ? name : `${name} (shown as ${label})`;
  const what = kind === 'instructions' ? `${server}: its instructions` : `${server}: ${kind} ${shown}`;
  const since = pinned === undefined ? '' : `, pinned ${new Date(pinned.at).toISOString()}`;
  return [
    state === 'new' ? `${what}: new` : `${what}: changed${since}`,
    ...(pinned?.damaged
      ? ['  the record of what was pinned is damaged; what the server lists now is shown']
      : []),
    ...(differences === undefined
      ? [`  not shown, there is too much: signalbox servers diff ${shellWords(server, name)}`]
      : differences.flatMap((difference) => differenceLines(difference, state === 'new'))),
    ...(more === undefined ? [] : [`  and ${count(more, 'more difference')}`]),
  ];
}

function differenceLines({ what, before, after, cut }: DefinitionDifference, isNew: boolean): string[] {
  if (isNew) return [`  ${what}:`, ...quoted(after)];
  const isUnseen = before !== undefined && before === after && !cut;
  if (isUnseen)
    return [`  ${what}: only differs in how characters are written that nobody sees`, ...quoted(after)];
  if (before === undefined) return [`  ${what} was not there. It is now:`, ...quoted(after)];
  if (after === undefined) return [`  ${what} is not there any more. It was:`, ...quoted(before)];
  return [`  ${what} was:`, ...quoted(before), `  ${what} is now:`, ...quoted(after)];
}

function quoted(text = ''): string[] {
  return quotedLines(text).map((line) => `    ${line}`);
}

function acceptLines({ server, seen }: PinnedServer, name: string | undefined): string[] {
  if (seen === undefined)
    return [
      `Not all of it is shown. Look at each to accept it: signalbox servers diff ${shellWords(server)} NAME`,
    ];
  const which = shellWords(server, ...(name === undefined ? [] : [name]));
  return [`If that may be shown: signalbox servers accept ${which} --seen ${seen}`];
}
