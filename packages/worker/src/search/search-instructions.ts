import type { Tool } from '@signalbox/protocol';
import { callToolName, searchToolName } from './search-definitions.ts';

const maxServersNamed = 40;

/** Returns the instructions for a model about the two tools and the tools that they find. */
export function searchInstructions(tools: readonly Tool[]): string[] {
  return [
    `Your list does not show all tools that you may use (${tools.length} more now): find them with ${searchToolName} by what they do, and call them with ${callToolName}.`,
    ...serverSentence(tools),
  ];
}

function serverSentence(tools: readonly Tool[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of tools) {
    const server = /^mcp_(.+?)__/.exec(name)?.[1];
    if (server !== undefined) counts.set(server, (counts.get(server) ?? 0) + 1);
  }
  if (counts.size === 0) return [];
  const named = [...counts].slice(0, maxServersNamed).map(([server, count]) => `${server} (${count})`);
  const more = counts.size > maxServersNamed ? ` and ${counts.size - maxServersNamed} more` : '';
  return [`They come from these servers: ${named.join(', ')}${more}.`];
}
