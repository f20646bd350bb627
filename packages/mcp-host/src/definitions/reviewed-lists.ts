import { visible } from '@signalbox/protocol/internal';
import type { McpContentList } from '../inventory/mcp-content-list.ts';
import type { ToolList } from '../inventory/tool-list.ts';
import { definitionsOf, definitionsOfInstructions } from './definition.ts';
import { changedProblems } from './definition-changed.ts';
import type { ServerDefinitions } from './server-definitions.ts';
import { visiblePrompt, visibleResource, visibleTool } from './visible-definition.ts';

/** A server, and its pins if its definitions are pinned. */
export interface ReviewedServer {
  name: string;
  definitions: ServerDefinitions | undefined;
}

/** The kinds of which the server's lists were read, so that a definition that is missing in them is not shown. */
export interface ReadKinds {
  prompts: boolean;
}

/** The most tools whose hidden characters are reported one by one. */
const maxReported = 10;

/**
 * Returns the tools of a server in the form in which they are shown: invisible characters in their texts are visible, and tools that
 * differ from their pins are in `changed`. The hash of a pin is that of the definition as the server sent it.
 */
export function reviewedTools({ name, definitions }: ReviewedServer, list: ToolList): ToolList {
  const changed = definitions?.review('tool', definitionsOf('tool', list.tools, list.sent));
  const hidden: string[] = [];
  const sent = new Map(list.sent);
  const tools = list.tools.map((tool) => {
    const shown = visibleTool(tool);
    if (shown.hidden) hidden.push(tool.name);
    if (shown.tool !== tool && !sent.has(tool.name)) sent.set(tool.name, tool);
    return shown.tool;
  });
  const problems = [...list.problems, ...hiddenProblems(hidden)];
  const reviewed = { ...list, tools, ...(sent.size > 0 && { sent }), problems };
  if (!changed || changed.size === 0) return reviewed;
  return { ...reviewed, problems: [...problems, ...changedProblems(name, 'tool', changed)], changed };
}

/**
 * Returns the prompts, resources and instructions of a server in the form in which they are shown, like {@link reviewedTools}. Resources
 * are not pinned.
 */
export function reviewedMcpContent(
  { name, definitions }: ReviewedServer,
  list: McpContentList,
  read: ReadKinds,
): McpContentList {
  const { instructions: text, ...rest } = list;
  const changed = read.prompts
    ? definitions?.review('prompt', definitionsOf('prompt', list.prompts, list.sentPrompts))
    : undefined;
  const changedText = definitions?.review('instructions', definitionsOfInstructions(text));
  const showsText = text !== undefined && !changedText?.size;
  return {
    ...rest,
    prompts: list.prompts.map(visiblePrompt),
    resources: list.resources.map(visibleResource),
    templates: list.templates.map(visibleResource),
    ...(showsText && { instructions: visible(text) }),
    ...(changed?.size && { changed }),
    ...(changedText?.size && { changedInstructions: changedText }),
    problems: [
      ...list.problems,
      ...(changed ? changedProblems(name, 'prompt', changed) : []),
      ...(changedText ? changedProblems(name, 'instructions', changedText) : []),
    ],
  };
}

function hiddenProblems(names: readonly string[]) {
  const message =
    'its schema has characters that nobody sees, in values or names that have to stay as they are: read it before a model does';
  return names.slice(0, maxReported).map((tool) => ({ tool: tool.slice(0, 128), message }));
}
