import type { Tool } from '@signalbox/protocol';
import type { ToolResult } from '../tools/tool-result.ts';
import { callToolName } from './search-definitions.ts';

/** Makes the result of a search: text for a model, and the same as data. */
export function foundToolsResult(query: string, tools: readonly Tool[], toolCount: number): ToolResult {
  const found = tools.map(({ name, title, description, inputSchema }) => ({
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema,
  }));
  const text = found.length === 0 ? nothingFound(query, toolCount) : foundText(found);
  return { content: [{ type: 'text', text }], structuredContent: { tools: found } };
}

function foundText(found: readonly Tool[]): string {
  const items = found.map(({ name, title, description, inputSchema }) =>
    [
      title === undefined ? `## ${name}` : `## ${name} (${title})`,
      ...(description === undefined ? [] : [description]),
      `inputSchema: ${JSON.stringify(inputSchema)}`,
    ].join('\n'),
  );
  return [...items, `Run one with ${callToolName} {"name": …, "arguments": …}.`].join('\n\n');
}

function nothingFound(query: string, toolCount: number): string {
  if (toolCount === 0) return 'You may use no tools at present, so there is nothing to find.';
  return `None of your ${toolCount} tools fits ${JSON.stringify(query)}. Try other words for the same thing, or fewer.`;
}
