import { toolNameStart } from '@signalbox/mcp-host/rules';
import { matchesPattern } from '@signalbox/protocol';
import { mayMatchStart, nearestName } from '@signalbox/protocol/internal';
import { serverPart } from '@signalbox/serving';
import type { Config } from '../config.ts';

/**
 * Warns of patterns for tools, prompts and resources that can match nothing of any server: no server has the name that a pattern names, or
 * none shows tools under names of that form. Patterns that only miss the tools of their server are found when it runs. `file` is the
 * configuration as people named it.
 */
export function unmatchedPatterns(config: Config, file: string): string[] {
  const { roles, orchestrator } = config;
  const lists: [string, readonly (string | undefined)[], string?][] = [
    ...Object.entries(roles).map(([role, { tools }]): [string, readonly (string | undefined)[]] => [
      `roles.${role}.tools`,
      tools.map((rule) => (typeof rule === 'string' ? rule : undefined)),
    ]),
    ...Object.entries(roles).map(([role, { ask = [] }]): [string, readonly (string | undefined)[]] => [
      `roles.${role}.ask`,
      ask.map((rule) => (typeof rule === 'string' ? rule : rule.tool)),
    ]),
    ...Object.entries(roles).map(([role, { prompts = [] }]): [string, readonly string[], string] => [
      `roles.${role}.prompts`,
      prompts,
      'prompt',
    ]),
    ...Object.entries(roles).map(([role, { resources = [] }]): [string, readonly string[], string] => [
      `roles.${role}.resources`,
      resources,
      'resource',
    ]),
    ['orchestrator.safeToRepeat', orchestrator.repeat.safe ?? []],
    ['orchestrator.neverRepeat', orchestrator.repeat.never ?? []],
  ];
  const unmatched = lists.flatMap(([path, patterns, noun = 'tool']) =>
    patterns.flatMap((pattern, at) => {
      const reason = pattern === undefined ? undefined : reasonOf(pattern, config);
      return reason === undefined
        ? []
        : [`${file}: ${path}[${at}]: '${pattern}' matches no ${noun}: ${reason}`];
    }),
  );
  return [...unmatched, ...withoutPins(config, file)];
}

/** Warns of roles by annotations that servers without pins have no part in. */
function withoutPins({ roles, mcpServers }: Config, file: string): string[] {
  const unpinned = Object.entries(mcpServers).flatMap(([name, { definitions, disabled }]) =>
    definitions === 'pin' || disabled ? [] : [name],
  );
  if (unpinned.length === 0) return [];
  return Object.entries(roles).flatMap(([role, { tools }]) =>
    tools.every((rule) => typeof rule === 'string')
      ? []
      : [
          `${file}: roles.${role}.tools: annotations give no tool of ${unpinned.join(', ')}: they count only for servers with definitions: pin, which orchestrator.definitions: pin gives to all`,
        ],
  );
}

function reasonOf(pattern: string, config: Config): string | undefined {
  const servers = Object.keys(config.mcpServers);
  const colon = pattern.indexOf(':');
  if (colon >= 0) {
    const named = pattern.slice(0, colon);
    if (servers.some((server) => matchesPattern(named, server))) return undefined;
    const nearest = nearestName(named, servers);
    return noServer(servers, nearest === undefined ? undefined : `${nearest}${pattern.slice(colon)}`);
  }
  if (servers.some((server) => mayMatchStart(pattern, toolNameStart(server)))) return undefined;
  // Tools of capability files and of servers without a prefix have any names but those of the form mcp_SERVER__TOOL.
  const hasOtherNames =
    config.capabilities.length > 0 || Object.values(config.mcpServers).some(({ prefix }) => prefix === false);
  const named = /^mcp_(.*?)__/.exec(pattern)?.[1];
  if (named !== undefined && !named.includes('*')) {
    const nearest = nearestName(named, servers.map(serverPart));
    return noServer(
      servers,
      nearest === undefined ? undefined : pattern.replace(`mcp_${named}__`, `mcp_${nearest}__`),
    );
  }
  if (hasOtherNames) return undefined;
  return servers.length === 0
    ? noServer(servers, undefined)
    : `tools are shown as mcp_SERVER__TOOL; write ${toolNameStart(servers[0]!)}… or SERVER:TOOL`;
}

function noServer(servers: readonly string[], meant: string | undefined): string {
  if (servers.length === 0) return 'no server is configured';
  return meant === undefined
    ? `no server has this name; there are: ${servers.join(', ')}`
    : `no server has this name (did you mean '${meant}'?)`;
}
