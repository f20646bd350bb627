import { createHash } from 'node:crypto';
import { serverPart } from '@signalbox/serving';

/** The default for the longest tool name: with its prefix `mcp__signalbox__`, Qwen Code allows 63 characters, and other clients more. */
export const defaultToolNameMax = 47;

const hashLength = 8;
/** The prefix of the mailbox tools. */
const ourPrefix = 'signalbox_';
const frame = 'mcp_'.length + '__'.length;

/** The smallest `toolNameMax` that leaves space for a few letters of server and tool beside the hash. */
export const smallestToolNameMax = frame + hashLength + 10;

/**
 * Returns the name under which a server's tool is shown: `mcp_{server}__{tool}`. A name longer than `max` characters
 * is cut and ends in a hash of both parts, so that it stays the same from run to run.
 */
export function mcpToolName(server: string, tool: string, max = defaultToolNameMax): string {
  const name = `mcp_${serverPart(server)}__${toolPart(tool)}`;
  return name.length <= max ? name : hashedName(server, tool, max);
}

/** Returns the beginning that the names of all tools of a server share. Long names of servers are cut in the names of some tools. */
export function toolNameStart(server: string, max = defaultToolNameMax): string {
  const part = serverPart(server);
  const least = leastServerLength(max);
  return part.length <= least ? `mcp_${part}__` : `mcp_${part.slice(0, least)}`;
}

/** Returns the space in characters that a name with a hash has for server and tool together. */
function roomBesideHash(max: number): number {
  return max - frame - hashLength - 1;
}

/** Returns the smallest number of characters of its server's name that a name with a hash holds. */
function leastServerLength(max: number): number {
  return Math.floor(roomBesideHash(max) / 2);
}

/**
 * Splits a name of the form that {@link mcpToolName} returns. Both parts are sanitised and may be cut: use them in messages, not for
 * routing.
 */
export function parseMcpToolName(name: string): { server: string; tool: string } | undefined {
  const match = /^mcp_([a-z0-9_]+?)__([A-Za-z0-9_-]+)$/.exec(name);
  return match ? { server: match[1]!, tool: match[2]! } : undefined;
}

/** Returns true for a name of the form `mcp_{server}__{tool}`. */
export function isMcpTool(name: string): boolean {
  return parseMcpToolName(name) !== undefined;
}

/** Returns true if `name` could be the name of a tool of this server. Several servers may fit, so it does not decide a route. */
export function mayBelongTo(server: string, name: string, prefix = true): boolean {
  const parsed = parseMcpToolName(name);
  if (!prefix && !parsed) return true;
  return parsed !== undefined && serverPart(server).startsWith(parsed.server);
}

/** A tool by the names that its server and the configuration give it. */
export interface ToolKey {
  server: string;
  tool: string;
  /** False if it is to be shown under its own name. */
  prefix?: boolean;
}

/**
 * Returns the servers whose names are alike after sanitising. This depends on the configuration alone, not on which
 * servers are up.
 */
export function serversAlike(names: readonly string[]): Set<string> {
  const groups = Map.groupBy(names, serverPart);
  return new Set([...groups.values()].filter((group) => group.length > 1).flat());
}

/**
 * Returns one distinct name per tool, in order; `undefined` for a tool that is left out because an earlier one has its name. Where plain
 * names collide, a tool that is spelled exactly like the plain name keeps it, and the others get the hash. Of several tools that are to
 * keep the same own name, the first gets it.
 */
export function assignToolNames(
  tools: readonly ToolKey[],
  alike: ReadonlySet<string>,
  max = defaultToolNameMax,
): (string | undefined)[] {
  const plain = tools.map((key) => firstChoice(key, alike, max));
  const rivals = new Map<string, Map<string, ToolKey>>();
  for (const [i, key] of tools.entries()) {
    const group = rivals.get(plain[i]!);
    if (group) group.set(identity(key), key);
    else rivals.set(plain[i]!, new Map([[identity(key), key]]));
  }
  const owners = new Map<ReadonlyMap<string, ToolKey>, string>();
  const taken = new Set<string>();
  return tools.map((key, i) => {
    const group = rivals.get(plain[i]!)!;
    const owner = owners.get(group) ?? ownerOf(group);
    owners.set(group, owner);
    const owns = group.size === 1 || (hasOwnName(key) ? isSpelledExactly(key) : owner === identity(key));
    const name = owns ? plain[i]! : distinctName(key, max);
    if (taken.has(name)) return undefined;
    taken.add(name);
    return name;
  });
}

/**
 * Returns the reason why a tool has neither the plain name `mcp_{server}__{tool}` nor, where that is wanted, its own; `undefined` if it
 * has.
 */
export function whyRenamed(
  key: ToolKey,
  name: string,
  alike: ReadonlySet<string>,
  max = defaultToolNameMax,
): string | undefined {
  const { server, tool, prefix } = key;
  if (prefix === false && !hasOwnName(key)) return 'its own name looks like one that the gateway gives';
  const plain = hasOwnName(key) ? toolPart(tool) : `mcp_${serverPart(server)}__${toolPart(tool)}`;
  if (name === plain) return undefined;
  if (plain.length > max) return `its name would be longer than ${max} characters`;
  return alike.has(server) && !hasOwnName(key)
    ? 'another server has the same name, as far as tool names go'
    : 'another tool has the same name, as far as tool names go';
}

/** Returns true if a tool is shown under its own name: not if that would look like a tool of another server, or one of ours. */
function hasOwnName({ tool, prefix }: ToolKey): boolean {
  if (prefix !== false) return false;
  const own = toolPart(tool);
  return !isMcpTool(own) && !own.startsWith(ourPrefix);
}

function firstChoice(key: ToolKey, alike: ReadonlySet<string>, max: number): string {
  const own = toolPart(key.tool);
  if (hasOwnName(key)) return own.length <= max ? own : distinctName(key, max);
  return alike.has(key.server) ? distinctName(key, max) : mcpToolName(key.server, key.tool, max);
}

function distinctName(key: ToolKey, max: number): string {
  if (!hasOwnName(key)) return hashedName(key.server, key.tool, max);
  return `${toolPart(key.tool).slice(0, max - hashLength - 1)}${endOfChangedName(key)}`;
}

/** Returns the identity of the only one of these tools that is spelled like its plain name; empty if there is none. */
function ownerOf(group: ReadonlyMap<string, ToolKey>): string {
  const exact = [...group.values()].filter(isSpelledExactly);
  return exact.length === 1 ? identity(exact[0]!) : '';
}

function isSpelledExactly(key: ToolKey): boolean {
  const { server, tool } = key;
  return (hasOwnName(key) || serverPart(server) === server) && toolPart(tool) === tool;
}

function hashedName(server: string, tool: string, max: number): string {
  const room = roomBesideHash(max);
  const wholeTool = toolPart(tool);
  const shortServer = serverPart(server).slice(0, Math.max(room - wholeTool.length, leastServerLength(max)));
  const shortTool = wholeTool.slice(0, room - shortServer.length);
  return `mcp_${shortServer}__${shortTool}${endOfChangedName({ server, tool })}`;
}

/** Returns the end of the name of a tool whose plain name would be too long, or is that of another tool. */
export function endOfChangedName(key: ToolKey): string {
  return `_${createHash('sha256').update(identity(key)).digest('hex').slice(0, hashLength)}`;
}

function identity({ server, tool }: ToolKey): string {
  return JSON.stringify([server, tool]);
}

function toolPart(tool: string): string {
  return tool.replace(/[^A-Za-z0-9_-]/g, '_');
}
