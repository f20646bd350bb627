import { createHash } from 'node:crypto';
import type { HostedDefinition, McpHost, SeenDefinition } from '@signalbox/mcp-host';
import {
  type AcceptDefinitionsReply,
  type AcceptDefinitionsRequest,
  type DefinitionReport,
  type DefinitionsReply,
  type DefinitionsRequest,
  type McpReply,
  type Sender,
  SignalboxError,
  toolCallError,
} from '@signalbox/protocol';
import { nearestName } from '@signalbox/protocol/internal';
import { type DiffRoom, definitionDiff } from '../definitions/definition-diff.ts';

/** The most definitions in one answer. */
const maxListed = 2000;
/** The room for the differences of one definition among several. */
const roomOfMany = { differences: 50, text: 2000 };
/** The room for the differences of a single named definition; a smaller one is used if a larger one does not fit into a reply. */
const roomsOfOne: readonly DiffRoom[] = [
  { differences: 500, text: 2_000_000, isWholeBeyond: true },
  // Differences name their fields, and names can be long: the whole definition may be shorter.
  { differences: 0, text: 400_000, isWholeBeyond: true },
  { differences: 0, text: 100_000, isWholeBeyond: true },
];
/** The most bytes of an answer about several definitions, and the part of a reply that an answer about one name may take. */
const maxBytes = 1_000_000;
const replyShare = 0.9;

/** The dependencies of the operations on definitions. */
export interface DefinitionOperationDeps {
  host: McpHost;
  /** The longest reply that can be delivered, in bytes. */
  maxReplyBytes: () => number;
}

/** Lists the definitions of pinned servers: all of them, or the withheld ones with their differences from the pins. */
export async function answerDefinitions(
  { host, maxReplyBytes }: DefinitionOperationDeps,
  { server, name, withheld: isWithheldOnly }: DefinitionsRequest,
): Promise<McpReply> {
  const pinned = host.pinnedServers();
  if (server !== undefined && !pinned.includes(server)) return notPinned(server, pinned);
  const all = host.definitions(server);
  const named = all.filter((one) => isNamed(one, name));
  if (name !== undefined && named.length === 0) return unknownName(name, all);
  const chosen = isWithheldOnly ? named.filter(isWithheld) : named;
  const most = maxReplyBytes() * replyShare;
  const rooms = name === undefined ? [roomOfMany] : roomsOfOne;
  const bytes = name === undefined ? Math.min(most, maxBytes) : most;
  let definitions: DefinitionReport[] = [];
  for (const diff of rooms) {
    if (definitions.length > 0 && definitions.every(({ differences }) => differences || !isWithheldOnly))
      break;
    definitions = await reportsOf(host, chosen, { diff: isWithheldOnly && diff, bytes });
  }
  // A text that is too long for any answer can only be seen in part.
  const shown = new Set(
    definitions.filter((one) => isShownWhole(one) || (name !== undefined && one.differences)).map(keyOf),
  );
  const data: DefinitionsReply = {
    definitions,
    ...(chosen.length > definitions.length && { more: chosen.length - definitions.length }),
    servers: pinned
      .filter((one) => server === undefined || one === server)
      .map((one) => {
        const own = named.filter((definition) => definition.server === one);
        const all = own.filter(isWithheld);
        const areShown = all.length > 0 && all.every((definition) => shown.has(keyOf(definition)));
        return {
          server: one,
          pinned: own.filter(({ state }) => state === 'pinned').length,
          withheld: all.length,
          ...(areShown && { seen: seenText(withheldAmong(all)) }),
        };
      }),
  };
  return { data };
}

/** Accepts withheld definitions, if they are the ones that the asker has seen. */
export async function answerAcceptDefinitions(
  { host }: DefinitionOperationDeps,
  asker: Sender,
  { server, name, seen }: AcceptDefinitionsRequest,
): Promise<McpReply> {
  const pinned = host.pinnedServers();
  if (!pinned.includes(server)) return notPinned(server, pinned);
  const withheld = withheldAmong(host.definitions(server).filter((one) => isNamed(one, name)));
  const what = name === undefined ? '' : ` named '${name}'`;
  if (withheld.length === 0)
    return invalid(`field 'server': nothing${what} of server '${server}' is withheld`);
  const moved = invalid(
    `field 'seen': what server '${server}' lists is not what was looked at; nothing was accepted`,
    'Look again, and accept what you see then.',
  );
  if (seenText(withheld) !== seen) return moved;
  try {
    const differ = await host.acceptDefinitions(server, withheld, asker.agent);
    if (differ.length > 0) return moved;
  } catch (thrown) {
    if (!(thrown instanceof SignalboxError)) throw thrown;
    const { message, retryable } = thrown;
    return { error: toolCallError('internal', message, { mayHaveRun: false, retryable }) };
  }
  const data: AcceptDefinitionsReply = { server, accepted: withheld };
  return { data };
}

/** Describes as many definitions as fit, with as many of their differences as fit. */
async function reportsOf(
  host: McpHost,
  definitions: readonly HostedDefinition[],
  { diff, bytes }: { diff: DiffRoom | false | undefined; bytes: number },
): Promise<DefinitionReport[]> {
  const reports: DefinitionReport[] = [];
  let left = bytes;
  for (const one of definitions.slice(0, maxListed)) {
    const brief = reportOf(one);
    left -= sizeOf(brief);
    if (left < 0) break;
    const { differences, more } = diff
      ? definitionDiff(await host.pinnedValue(one.server, one), one.listed?.value, diff)
      : { differences: undefined, more: 0 };
    const size = differences ? sizeOf(differences) : 0;
    const isFitting = differences !== undefined && size <= left;
    if (isFitting) left -= size;
    reports.push(isFitting ? { ...brief, differences, ...(more > 0 && { more_differences: more }) } : brief);
  }
  return reports;
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function reportOf({ server, kind, name, as, state, pin, listed }: HostedDefinition): DefinitionReport {
  return {
    ...{ server, kind, name, state },
    ...(as !== undefined && { as }),
    ...(pin && {
      pinned: {
        ...{ hash: pin.hash, at: pin.at },
        ...(pin.by !== undefined && { by: pin.by }),
        ...(pin.isDamaged && { damaged: true as const }),
      },
    }),
    ...(listed && { listed: listed.hash }),
  };
}

function isShownWhole({ differences, more_differences: more }: DefinitionReport): boolean {
  return differences !== undefined && more === undefined && differences.every(({ cut }) => !cut);
}

function isNamed(one: HostedDefinition, name: string | undefined): boolean {
  return name === undefined || one.name === name || one.as === name;
}

function isWithheld({ state }: HostedDefinition): boolean {
  return state === 'changed' || state === 'new';
}

function keyOf({ server, kind, name }: Pick<HostedDefinition, 'server' | 'kind' | 'name'>): string {
  return JSON.stringify([server, kind, name]);
}

function notPinned(server: string, pinned: readonly string[]): McpReply {
  const nearest = nearestName(server, pinned);
  const known =
    pinned.length > 0
      ? `Pinned are: ${pinned.join(', ')}.`
      : 'No server has definitions: pin in its configuration.';
  const hint = nearest === undefined ? known : `The most similar one is '${nearest}'.`;
  return invalid(`field 'server': there is no server '${server}' with definitions: pin`, hint);
}

function unknownName(name: string, known: readonly HostedDefinition[]): McpReply {
  const names = known.flatMap((one) => [one.name, ...(one.as === undefined ? [] : [one.as])]);
  const nearest = nearestName(name, names);
  const hint = nearest === undefined ? undefined : `The most similar one is '${nearest}'.`;
  return invalid(
    `field 'name': no pinned server has a tool or prompt '${name.slice(0, 256)}', or had one`,
    hint,
  );
}

function invalid(message: string, hint?: string): McpReply {
  const options = { mayHaveRun: false, ...(hint !== undefined && { hint }) };
  return { error: toolCallError('invalid_arguments', message, options) };
}

/** Lists the withheld definitions in the form in which they are accepted. */
function withheldAmong(definitions: readonly HostedDefinition[]): SeenDefinition[] {
  return definitions.flatMap(({ kind, name, state, listed }) =>
    listed && (state === 'changed' || state === 'new') ? [{ kind, name, hash: listed.hash }] : [],
  );
}

/** Returns a short text that identifies these definitions, each as its server lists it. Another set has another text. */
function seenText(definitions: readonly SeenDefinition[]): string {
  const keys = definitions.map(({ kind, name, hash }) => JSON.stringify([kind, name, hash])).sort();
  return createHash('sha256').update(JSON.stringify(keys)).digest('base64url').slice(0, 22);
}
